"""One partition on this broker, put together: what it is (`Role`), and the parts that write, read, copy and keep it.

Everything that changes it runs on the loop without an await in between, so there are no locks.
"""

from typing import Any

from headrace.base.clock import Now
from headrace.base.ids import TopicPartition
from headrace.cluster.entities import PartitionState
from headrace.cluster.topic_config import TopicConfig
from headrace.log.log import Log
from headrace.partition.appends import Appends
from headrace.partition.following import Following
from headrace.partition.in_sync import InSync
from headrace.partition.reads import Reads
from headrace.partition.ready import Ready
from headrace.partition.role import Role
from headrace.partition.sequences import Sequences
from headrace.partition.upkeep import Upkeep
from headrace.partition.verification import Verifications
from headrace.wire.codes import ErrorCode


class Partition(Role):
    __slots__ = ("appends", "following", "in_sync", "reads", "sequences", "upkeep", "verifications")

    def __init__(
        self,
        id: TopicPartition,
        topic_id: bytes,
        broker_id: int,
        log: Log,
        config: TopicConfig,
        state: PartitionState,
        high_watermark: int,
        ready: Ready[Any],
        now: Now,
    ) -> None:
        super().__init__(id, topic_id, broker_id, log, config, state, high_watermark, ready)
        self.sequences = Sequences(self)
        self.verifications = Verifications(self)
        self.appends = Appends(self, self.sequences, self.verifications)
        self.reads = Reads(self)
        self.in_sync = InSync(self)
        self.following = Following(self)
        self.upkeep = Upkeep(self)
        if log.end_offset:
            # What a crash left in the page cache only is not shown to anyone before it is on disk. The directory of one
            # with nothing in it is synced with its first record.
            ready.owe_sync(self)
        self.on_state(state, now)

    def begin_term(self, now: Now) -> None:
        super().begin_term(now)
        self.verifications.begin_term()
        self.sequences.begin_term(now)

    def close(self) -> None:
        """Sends whoever waits to look for another leader."""
        self.ready.tell(self.waits.lose_all(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.notify()

    def end(self) -> None:
        """Ends the partition on this broker. A sync under way may still finish: nobody is told then, and a late reader
        finds nothing instead of files that are gone.
        """
        self.is_gone = True
        self.is_leader = False
        self.leader = None
        self.close()
