"""The invariant "fresh": a broker that takes its lease as alive knows of every change that is older than a lease.

Otherwise it answers reads and metadata as somebody who has not led for minutes, and nobody can tell.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.host import Host
    from sim.world import World

LEASE_SECONDS = 2.0
# News travels, and the checks look four times a second.
SLACK_SECONDS = 0.5


class FreshImages:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._revisions: list[tuple[int, float]] = []
        """Of the store, each with the moment at which it was first seen."""

    def look(self) -> str:
        """What is wrong; nothing, most of the time."""
        now, revision = self._world.agenda.now, self._world.shelf.revision
        if not self._revisions or self._revisions[-1][0] < revision:
            self._revisions.append((revision, now))
        for host in self._world.hosts:
            known = self._believed(host)
            if known is None:
                continue
            unknown_since = next((since for revision, since in self._revisions if revision > known), now)
            if now - unknown_since > LEASE_SECONDS + SLACK_SECONDS:
                return f"{host.name} answers by revision {known}, and has missed news for {now - unknown_since:.1f} s"
        return ""

    def _believed(self, host: "Host") -> int | None:
        """The revision of its image, if it would answer anybody with it."""
        if not host.answers or host.loop.is_paused or host.node is None:
            return None
        broker = host.node.broker
        return broker.image.revision if host.clock.mono() <= broker.membership.deadline else None
