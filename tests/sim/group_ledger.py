"""What must be true of a consumer group, by what its members were told.

one-owner       a partition has one reader among those who are members for sure: heard of within their session
no-offset-lost  what was acknowledged as committed is what the next reader finds, or more
"""

from headrace.base.ids import TopicPartition
from sim.checks import Checks
from sim.world import World


class Holder:
    """A member as the ledger sees it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.held: frozenset[TopicPartition] = frozenset()
        self.alive_until = 0.0
        """Its session, counted from when it sent the last request that was answered: the coordinator counts longer."""


class GroupLedger:
    def __init__(self, world: World, checks: Checks) -> None:
        self.acknowledged: dict[TopicPartition, int] = {}
        self.commits = 0
        self._world = world
        self._checks = checks
        self._holders: list[Holder] = []

    @property
    def now(self) -> float:
        return self._world.agenda.now

    def new_holder(self, name: str) -> Holder:
        self._holders.append(Holder(name))
        return self._holders[-1]

    def on_held(self, holder: Holder, parts: frozenset[TopicPartition]) -> None:
        gained, holder.held = parts - holder.held, parts
        for other in self._holders:
            both = gained & other.held
            if other is not holder and both and other.alive_until > self.now:
                self._checks.fail("one-owner", f"{min(both)} is read by {other.name} and was given to {holder.name}")

    def on_fetched(self, name: str, part: TopicPartition, offset: int, least: int) -> None:
        if offset < least:
            self._checks.fail("no-offset-lost", f"{part}: {least} was acknowledged, {name} found {offset}")

    def on_committed(self, part: TopicPartition, offset: int) -> None:
        self.commits += 1
        self.acknowledged[part] = max(offset, self.acknowledged.get(part, -1))
