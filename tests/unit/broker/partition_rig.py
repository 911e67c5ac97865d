"""One partition on a disk in memory, led by broker 1, with a flusher in virtual time."""

from batches import NOW, config
from quiet_loop import QuietLoop

from headrace.base.ids import TopicPartition
from headrace.base.probe import Probes
from headrace.broker.flusher import Flusher
from headrace.broker.partition import Partition
from headrace.broker.partitions import log_config
from headrace.broker.sync_threads import SyncThreads
from headrace.cluster.entities import PartitionState
from headrace.log.config import LogConfig
from headrace.log.log import Log
from headrace.log.pool import FilePool
from sim.disk import SimDisk
from sim.host import SimClock

PATH = "/data/orders-0"
ID = TopicPartition("orders", 0)
ALONE = PartitionState((1,), (1,), 1, 5)
# Nobody has led before.
FIRST = PartitionState((1,), (1,), 1, 0)


def formatted_disk() -> SimDisk:
    """With the data directory on it, as a broker's start leaves it."""
    machine = SimDisk()
    disk = machine.mount()
    disk.mkdir("/data")
    disk.sync_dir_job("/")()
    return machine


class PartitionRig:
    def __init__(self, state: PartitionState = ALONE, machine: SimDisk | None = None, **settings: object) -> None:
        self.loop = QuietLoop()
        self.machine = machine or formatted_disk()
        self.failures: list[BaseException] = []
        self.proposals: list[object] = []
        self.disk = self.machine.mount()
        topic_config = config(**settings)
        log, self.report = Log.open(
            self.disk,
            FilePool(self.disk),
            PATH,
            log_config(topic_config, LogConfig()),
            NOW,
            recovery_point=0,
            clean=False,
        )
        clock = SimClock(self.loop.agenda, "test")
        run_jobs = SyncThreads(self.loop, clock, None).run
        flusher = Flusher(self.loop, clock, run_jobs, Probes(), lambda: None, self.failures.append)
        self.partition = Partition(
            ID, b"i" * 16, 1, log, topic_config, state, flusher, 0, lambda *each: self.proposals.append(each), NOW
        )
        self.loop.run_ready()

    def append(self, content: bytearray, acks: int = -1):
        return self.partition.append(memoryview(content), acks, 9, NOW)

    def sync(self) -> None:
        self.loop.run_ready()
