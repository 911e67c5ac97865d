"""Doubts about copies of this broker, on which the cluster must not count: they have or may have a hole, or are not open.

Invariant: a doubt stays until the cluster was told of it, and so does the mark in the log's directory.
"""

from headrace.broker.checkpoints import Checkpoints
from headrace.broker.partitions import Partitions
from headrace.cluster.rejoin import Doubt, Doubts


class CopyDoubts:
    def __init__(self, partitions: Partitions, checkpoints: Checkpoints) -> None:
        self._partitions = partitions
        self._checkpoints = checkpoints
        self._found: dict[tuple[bytes, int], Doubt] = {}
        """Doubts of recovery, by topic id, of which the cluster was not told yet."""

    @property
    def all(self) -> Doubts:
        image = self._partitions.image
        unopened = {
            (image.topics[topic].id, index): Doubt.UNSURE
            for topic, index in self._partitions.left_over
            if image.partition(topic, index) is not None
        }
        return {**unopened, **self._found}

    def found(self, topic_id: bytes, index: int) -> Doubt | None:
        return self._found.get((topic_id, index))

    def note(self, topic_id: bytes, index: int, doubt: Doubt) -> None:
        self._found[topic_id, index] = doubt

    def drop(self, topic_id: bytes, index: int) -> None:
        del self._found[topic_id, index]

    def on_told(self, told: Doubts) -> None:
        """The cluster does not count on these any more, or has nothing better."""
        self._checkpoints.are_doubts_told = True
        for key in told:
            self._found.pop(key, None)
        for partition in self._partitions:
            if (partition.topic_id, partition.id.partition) in told:
                partition.log.damage.forget()
