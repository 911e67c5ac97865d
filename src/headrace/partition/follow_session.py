"""The positions that one leader was told, of the partitions that are copied from it, and the news since.

    a partition moves ─▶ dirty ─▶ news: positions that the leader does not know, partitions it should forget ─▶ told

A round costs what changed: partitions say so themselves (`on_moved`), nothing is looked through, however many are
followed. A partition that is in trouble, or held back by a throttle, is out of the session for that long: left in it,
every fetch would be answered at once with the same trouble.
"""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

from headrace.base.ids import TopicPartition
from headrace.partition.partition import Partition
from headrace.wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic

# So many in one request: encoding, reading and answering more would hold up a loop for too long.
NEWS_MAX = 1000


class Position(NamedTuple):
    """The position in one partition that the leader was told."""

    topic_id: bytes
    leader_epoch: int
    offset: int
    last_epoch: int
    high_watermark: int


def position_of(partition: Partition) -> Position:
    return Position(
        partition.topic_id,
        partition.leader_epoch,
        partition.proven_end,
        partition.log.state.epochs.latest,
        partition.high_watermark,
    )


class News(NamedTuple):
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]


class FollowSession:
    def __init__(self, broker_id: int) -> None:
        self._broker_id = broker_id
        self._followed: dict[TopicPartition, Partition] = {}
        self._behind: dict[TopicPartition, Partition] = {}
        self._told: dict[TopicPartition, Position] = {}
        # Dicts for their order, as everywhere that the simulator looks.
        self._dirty: dict[TopicPartition, None] = {}
        self._held_back: Collection[TopicPartition] = ()
        self._not_before: dict[TopicPartition, float] = {}

    # -- what is followed ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._followed)

    def __iter__(self) -> Iterator[Partition]:
        return iter(list(self._followed.values()))

    def find(self, id: TopicPartition) -> Partition | None:
        return self._followed.get(id)

    @property
    def behind(self) -> Collection[Partition]:
        """Followed partitions where we are not in sync."""
        return self._behind.values()

    def follow(self, partition: Partition) -> None:
        """Follows the partition from now on, or goes on under its new state."""
        self._followed[partition.id] = partition
        if self._broker_id in partition.state.isr:
            self._behind.pop(partition.id, None)
        else:
            self._behind[partition.id] = partition
        partition.copier = self
        self.on_moved(partition)

    def unfollow(self, partition: Partition) -> None:
        partition.copier = None
        if self._followed.get(partition.id) is partition:
            del self._followed[partition.id]
            self._behind.pop(partition.id, None)
            self.on_moved(partition)

    def on_moved(self, partition: Partition) -> None:
        self._dirty[partition.id] = None

    def back_off(self, partition: Partition, until: float) -> None:
        self._not_before[partition.id] = until
        self.on_moved(partition)

    # -- what the leader knows -----------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether the leader has nothing to answer about."""
        return not self._told

    @property
    def has_news(self) -> bool:
        return bool(self._dirty)

    def told(self, id: TopicPartition) -> Position | None:
        return self._told.get(id)

    def forget(self) -> None:
        """The leader knows nothing of us any more. The partition told last comes last, so that each has its turn."""
        told, self._told = self._told, {}
        self._dirty.update(dict.fromkeys(told))

    def news(self, held_back: Collection[TopicPartition], bytes_max: int, now: float) -> News:
        """The content of the next fetch; it counts as told. `bytes_max` is the most that each partition may answer with."""
        self._note_holds(held_back, now)
        topics: dict[bytes, FetchTopic] = {}
        forgotten: dict[bytes, ForgottenTopic] = {}
        for id in self._take_dirty():
            told = self._told.get(id)
            position = self._position(id)
            if told is not None and (position is None or told.topic_id != position.topic_id):
                del self._told[id]
                forgotten.setdefault(told.topic_id, ForgottenTopic(topic_id=told.topic_id, partitions=[]))
                forgotten[told.topic_id].partitions.append(id.partition)
            if position is not None and told != position:
                self._told[id] = position
                topics.setdefault(position.topic_id, FetchTopic(topic_id=position.topic_id, partitions=[]))
                topics[position.topic_id].partitions.append(self._wanted(id, position, bytes_max))
        return News(list(topics.values()), list(forgotten.values()))

    def _note_holds(self, held_back: Collection[TopicPartition], now: float) -> None:
        """Notes the partitions whose hold begins or ends, and those whose time out is over."""
        if held_back or self._held_back:
            self._dirty.update(dict.fromkeys([*self._held_back, *held_back]))
        self._held_back = held_back
        for id in [id for id, until in self._not_before.items() if until <= now]:
            del self._not_before[id]
            self._dirty[id] = None

    def _take_dirty(self) -> list[TopicPartition]:
        taken = list(islice(self._dirty, NEWS_MAX))
        if len(taken) == len(self._dirty):
            self._dirty = {}
        else:
            for id in taken:
                del self._dirty[id]
        return taken

    def _position(self, id: TopicPartition) -> Position | None:
        """None for one that is to be out of the session. A log whose tail is not proven is, until it is: the last epoch
        would be the tail's, and the offset another's."""
        partition = self._followed.get(id)
        if partition is None or id in self._held_back or id in self._not_before or not partition.is_proven:
            return None
        return position_of(partition)

    def _wanted(self, id: TopicPartition, position: Position, bytes_max: int) -> FetchPartition:
        return FetchPartition(
            id.partition,
            position.leader_epoch,
            position.offset,
            position.last_epoch,
            self._followed[id].log.start_offset,
            bytes_max,
            high_watermark=position.high_watermark,
        )
