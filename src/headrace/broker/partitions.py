"""The partitions that this broker hosts: found by topic and number, refused where they are not, fenced and closed together.

`hosting` opens them, keeps them in step with the image and closes them.
"""

from collections.abc import Awaitable, Callable, Iterator

from headrace.base.errors import Refused
from headrace.cluster.entities import PartitionState
from headrace.cluster.image import Image
from headrace.partition.partition import Partition
from headrace.wire.codes import ErrorCode


class Partitions:
    def __init__(self, broker_id: int, path: str) -> None:
        self.path = path
        self.image = Image()
        """The image that these partitions are in step with, but for those still to be opened."""
        # Until we are registered: what the image says of us is about an earlier life.
        self.is_fenced = True
        self.left_over: dict[tuple[str, int], Exception] = {}
        """Partitions that the image gives us and that could not be opened, with the cause."""
        self._broker_id = broker_id
        self._hosted: dict[tuple[str, int], Partition] = {}

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._hosted.values())

    def __len__(self) -> int:
        return len(self._hosted)

    def add(self, partition: Partition) -> None:
        assert partition.id not in self._hosted and not partition.is_gone, partition.id
        self._hosted[partition.id] = partition

    def remove(self, partition: Partition) -> None:
        assert self._hosted.get(partition.id) is partition, partition.id
        del self._hosted[partition.id]

    def find(self, topic: str | None, index: int) -> Partition | None:
        return None if topic is None else self._hosted.get((topic, index))

    def hosted(self, topic: str | None, index: int, by_id: bool = False) -> Partition:
        """The partition, or the refusal that makes a client ask the right broker, or ask again."""
        if topic is not None:
            found = self._hosted.get((topic, index))
            if found is not None and not self.is_fenced:
                return found
            cause = self.left_over.get((topic, index))
            if cause is not None:
                raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic}-{index} cannot be opened: {cause}")
            if self.image.partition(topic, index) is not None:
                raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is not on broker {self._broker_id}")
            if topic in self.image.topics or not by_id:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {index} of topic {topic!r}")
        if by_id:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic is named")

    def is_ours(self, state: PartitionState | None) -> bool:
        return state is not None and self._broker_id in state.replicas

    def fence(self) -> None:
        """Serves nothing until we are registered again; nobody is left waiting for an ack of ours."""
        self.is_fenced = True
        for partition in self:
            partition.close()

    async def close_all(self, until_synced: Callable[[], Awaitable[None]]) -> None:
        """Blocks for nobody's disk: all logs share the rounds of syncs."""
        for partition in self:
            partition.close()
            partition.log.prepare_close()
            partition.ready.owe_sync(partition)
        await until_synced()
        for partition in self:
            partition.log.close()
