"""One partition on a disk in memory, led by broker 1, with a flusher in virtual time."""

from batches import NOW, config
from headrace.base.ids import TopicPartition
from headrace.base.probe import Probes
from headrace.broker.disk.flusher import Flusher
from headrace.broker.disk.sync_threads import SyncThreads
from headrace.broker.hosting.topic_settings import log_config
from headrace.broker.turn import Turn
from headrace.cluster.entities import PartitionState
from headrace.log.config import LogConfig
from headrace.log.opening import open_log
from headrace.log.pool import FilePool
from headrace.partition.partition import Partition
from headrace.partition.ready import Ready
from quiet_loop import QuietLoop
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
        log, self.report = open_log(
            FilePool(self.disk),
            PATH,
            log_config(topic_config, LogConfig()),
            NOW,
            recovery_point=0,
            clean=False,
        )
        clock = SimClock(self.loop.agenda, "test")
        run_jobs = SyncThreads(self.loop, clock, None).run
        ready: Ready[Partition] = Ready()
        flusher = Flusher(self.loop, clock, run_jobs, Probes(), ready.sync, self.failures.append)
        self.turn = Turn(
            self.loop,
            ready,
            flusher,
            lambda: True,
            lambda *each: self.proposals.append(each),
            Probes(),
            self.failures.append,
        )
        self.partition = Partition(ID, b"i" * 16, 1, log, topic_config, state, 0, ready, NOW)
        self.loop.run_ready()

    def _propose(self, *proposed: object) -> None:
        self.proposals.append(proposed)

    def append(self, content: bytearray, acks: int = -1):
        return self.partition.appends.append(memoryview(content), acks, 9, NOW)

    def carry_out(self) -> None:
        """The end of this turn, without the rounds of syncs that follow it."""
        self.turn.carry_out()

    def sync(self) -> None:
        self.loop.run_ready()
