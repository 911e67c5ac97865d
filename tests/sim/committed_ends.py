"""The invariants "in-sync" and "synced-ack" of every topic, internal ones too: what some leader has shown as committed is
held by each member of the in-sync set.

Clients see acks of some topics only. The high watermark of a broker that answers as a leader is as good as an ack: offsets
of groups and states of transactions are acknowledged when it has passed them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from headrace.cluster.image import Image
from sim.held_ends import HeldEnds
from sim.host import Host
from sim.world import World

Place = tuple[bytes, int]
"""Topic id and partition: a topic that is made again under its old name begins anew."""


class Lack(NamedTuple):
    name: str
    end_offset: int
    isr: tuple[int, ...]
    broker_id: int
    held: int

    def __str__(self) -> str:
        return (
            f"{self.name} is acked up to {self.end_offset}, its in-sync replicas are now {list(self.isr)}, "
            f"and broker {self.broker_id} holds {self.held}"
        )


class CommittedEnds:
    def __init__(self, world: World) -> None:
        self._world = world
        self._ends: dict[Place, int] = {}
        self._held = HeldEnds()

    def on_ack(self, place: Place, end_offset: int) -> None:
        self._ends[place] = max(end_offset, self._ends.get(place, 0))

    def note_leaders(self) -> None:
        for host in self._world.hosts:
            if host.answers:
                for partition in host.partitions():
                    self._note_leader(partition)

    def note(self, host: Host) -> None:
        """Before its death too: what it holds outlives it."""
        if host.is_serving:
            answers = host.answers
            for partition in host.partitions():
                self._held.note(host, partition)
                if answers:
                    self._note_leader(partition)

    def _note_leader(self, partition: Any) -> None:
        if partition.is_leader and partition.high_watermark:
            self.on_ack((partition.topic_id, partition.id.partition), partition.high_watermark)

    def lacks(self, image: Image) -> Iterator[Lack]:
        """Members of in-sync sets that lack something; those whose copy is known to be damaged lead only if all are."""
        for topic in image.topics.values():
            for index, state in enumerate(topic.partitions):
                end_offset = self._ends.get((topic.id, index), 0)
                for broker_id in state.isr if end_offset else ():
                    held = self._held.held(self._world.hosts[broker_id - 1], topic.id, topic.name, index, end_offset)
                    if held < end_offset and broker_id not in state.damaged:
                        yield Lack(f"{topic.name}-{index}", end_offset, state.isr, broker_id, held)
