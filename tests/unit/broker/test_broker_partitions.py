"""All partitions of a broker on a simulated disk: opened and closed by the image, each for itself."""

import pytest

from batches import NOW, batch
from headrace.base.errors import DiskFull, Refused
from headrace.base.ids import format_id
from headrace.base.probe import Probes
from headrace.broker.checkpoints import UNLINK_PER_TURN, Checkpoints
from headrace.broker.disk.flusher import Flusher
from headrace.broker.disk.partition_directories import PartitionDirectories
from headrace.broker.disk.sync_threads import SyncThreads
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.hosting.hosting import Hosting
from headrace.broker.hosting.log_files import LogFiles
from headrace.broker.hosting.moved import Moved
from headrace.broker.hosting.opener import LifeBefore
from headrace.broker.replication.copier import Syncing
from headrace.broker.turn import Turn
from headrace.broker.upkeep.removals import Removals
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.image import Image
from headrace.cluster.rejoin import Doubt
from headrace.log import checkpoint
from headrace.log.pool import FilePool
from headrace.partition.partition import Partition
from headrace.partition.ready import Ready
from headrace.wire.codes import ErrorCode
from partition_rig import formatted_disk
from quiet_loop import QuietLoop
from sim.disk import SimDisk
from sim.host import SimClock

ME, OTHER = 1, 2
LED = PartitionState((ME,), (ME,), ME, 1)


class Clock:
    def now(self):
        return NOW

    def boot_id(self) -> str:
        return "boot"


def topic(
    name: str = "orders", id: bytes = b"a" * 16, states: tuple[PartitionState, ...] = (LED,), **config: str
) -> Topic:
    return Topic(name, id, states, {key.replace("_", "."): value for key, value in config.items()}, False, 1)


def image_of(*topics: Topic) -> Image:
    return Image(topics={each.name: each for each in topics}, topic_names={each.id: each.name for each in topics})


class Life:
    """One life of a broker on a machine's disk."""

    def __init__(self, machine: SimDisk, *, clean: bool = False, same_boot: bool = True) -> None:
        self.loop = QuietLoop()
        self.machine = machine
        self.disk = machine.mount()
        clock = SimClock(self.loop.agenda, "test")
        run_jobs = SyncThreads(self.loop, clock, None).run
        ready: Ready[Partition] = Ready()
        flusher = Flusher(self.loop, clock, run_jobs, Probes(), ready.sync, self._fail)
        self.turn = Turn(
            self.loop, ready, flusher, lambda: True, lambda partition, proposal: None, Probes(), self._fail
        )
        watch = DiskWatch(self.loop, None, lambda: None, 2000)
        self.files = LogFiles(
            PartitionDirectories(self.disk, "/data"), FilePool(self.disk, 100), Removals(self.disk, None)
        )
        self.checkpoints = Checkpoints(self.disk, "/data", watch, Moved(ready))
        self.hosting = Hosting(
            ME, self.files, self.checkpoints, ready, Clock(), watch, LifeBefore(clean, same_boot), self._on_opened
        )
        self.partitions = self.hosting.partitions
        self.partitions.is_fenced = False
        self.opened: list[Partition] = []

    def _on_opened(self, opened: list[Partition]) -> None:
        self.opened += opened

    def _fail(self, error: BaseException) -> None:
        raise AssertionError(error)

    def show(self, *topics: Topic) -> list[Partition]:
        self.opened = []
        changed = self.loop.run(self.hosting.reconciliation.reconcile(image_of(*topics), BrokerConfig({})))
        self.loop.run(self.hosting.openings.open_waiting())
        self.loop.run_ready()
        return changed + self.opened

    def write(self, name: str = "orders", count: int = 1) -> None:
        for _ in range(count):
            self.partitions.hosted(name, 0).appends.append(memoryview(batch()), -1, 9, NOW)
        self.loop.run_ready()

    def save(self) -> None:
        self.loop.run(self.checkpoints.save())

    def refusal(self, name: str = "orders") -> tuple[int, str]:
        with pytest.raises(Refused) as refused:
            self.partitions.hosted(name, 0)
        return refused.value.code, refused.value.message

    def end_of(self, name: str = "orders") -> int:
        return self.partitions.hosted(name, 0).log.end_offset


@pytest.fixture
def machine() -> SimDisk:
    return formatted_disk()


def test_what_the_image_gives_us_is_opened_and_the_rest_is_not(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic(), topic("theirs", b"b" * 16, (PartitionState((OTHER,), (OTHER,), OTHER, 1),)))
    assert [str(each.id) for each in life.partitions] == ["orders-0"]
    assert life.refusal("theirs")[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert life.refusal("nobodys")[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(Refused) as refused:
        life.partitions.hosted(None, 0, by_id=True)
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_topic_that_is_deleted_is_gone_from_the_disk(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.write()
    life.show()
    assert len(life.partitions) == 0
    assert life.disk.listdir("/data/logs") == []


@pytest.mark.parametrize("saved", [False, True], ids=["before a checkpoint", "after one"])
def test_a_topic_made_again_under_its_name_begins_anew(machine: SimDisk, saved: bool) -> None:
    """What was written down about its predecessor must not make it look damaged, or start where that one did."""
    life = Life(machine)
    life.show(topic())
    life.write(count=10)
    life.partitions.hosted("orders", 0).upkeep.delete_records(8)
    life.save()
    life.show()
    life.show(topic(id=b"b" * 16))
    life.write(count=2)
    if saved:
        life.save()
    again = Life(machine)
    again.show(topic(id=b"b" * 16))
    assert not again.hosting.doubts.all
    assert (again.partitions.hosted("orders", 0).log.start_offset, again.end_of()) == (0, 2)


def test_start_and_recovery_points_survive(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    life.partitions.hosted("orders", 0).upkeep.delete_records(3)
    life.save()
    again = Life(machine)
    again.show(topic())
    partition = again.partitions.hosted("orders", 0)
    assert (partition.log.start_offset, partition.log.end_offset, partition.high_watermark) == (3, 5, 5)


def test_a_clean_stop_leaves_nothing_to_do(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    life.loop.run(life.partitions.close_all(life.turn.until_synced))
    life.save()
    again = Life(machine, clean=True)
    again.show(topic())
    assert again.partitions.hosted("orders", 0).log.sync.synced_end == 5


def log_path(life: Life) -> str:
    (name,) = [name for name in life.disk.listdir("/data/logs/orders-0") if name.endswith(".log")]
    return f"/data/logs/orders-0/{name}"


def test_rot_below_the_recovery_point_is_damage(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    life.save()
    machine.flip_bit(log_path(life), 100)
    again = Life(machine)
    again.show(topic())
    assert again.hosting.doubts.all == {(b"a" * 16, 0): Doubt.DAMAGED}


@pytest.mark.parametrize("same_boot", [True, False], ids=["killed", "power cut"])
def test_a_log_that_ends_below_its_recovery_point_is_damaged(machine: SimDisk, same_boot: bool) -> None:
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    life.save()
    cut_off_the_end(life)
    again = Life(machine, same_boot=same_boot)
    again.show(topic())
    assert again.hosting.doubts.all == {(b"a" * 16, 0): Doubt.DAMAGED}


@pytest.mark.parametrize(
    ("same_boot", "doubt"), [(True, Doubt.DAMAGED), (False, Doubt.UNSURE)], ids=["killed", "power cut"]
)
def test_a_hole_above_the_recovery_point(machine: SimDisk, same_boot: bool, doubt: Doubt) -> None:
    """Rot, if the page cache lived. After a power cut it may be a write that was never acknowledged."""
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    machine.flip_bit(log_path(life), 100)
    again = Life(machine, same_boot=same_boot)
    again.show(topic())
    assert again.hosting.doubts.all == {(b"a" * 16, 0): doubt}


def cut_off_the_end(life: Life) -> None:
    log = life.disk.open(log_path(life))
    log.truncate(log.size - 10)


@pytest.mark.parametrize(
    ("same_boot", "doubts"), [(True, [Doubt.DAMAGED]), (False, [Doubt.UNSYNCED])], ids=["killed", "power cut"]
)
def test_a_relaxed_log_that_ends_below_what_was_committed(
    machine: SimDisk, same_boot: bool, doubts: list[Doubt]
) -> None:
    """It has no recovery point to speak of. But what was committed was in the page cache, if that lived."""
    relaxed = topic(flush_messages="1000")
    life = Life(machine)
    life.show(relaxed)
    life.write(count=5)
    life.save()
    assert life.partitions.hosted("orders", 0).log.sync.synced_end == 0
    cut_off_the_end(life)
    again = Life(machine, same_boot=same_boot)
    again.show(relaxed)
    assert list(again.hosting.doubts.all.values()) == doubts


def test_what_was_relaxed_when_the_power_went_is_known_whatever_the_topic_is_by_now(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic(flush_messages="1000"))
    life.write(count=5)
    again = Life(machine, same_boot=False)
    again.show(topic())
    assert again.hosting.doubts.all == {(b"a" * 16, 0): Doubt.UNSYNCED}
    # One that nobody was told of is known to the next life too.
    again.save()
    again = Life(machine, same_boot=False)
    again.show(topic())
    assert again.hosting.doubts.all == {(b"a" * 16, 0): Doubt.UNSYNCED}
    again.hosting.doubts.on_told(again.hosting.doubts.all)
    again.save()
    again = Life(machine, same_boot=False)
    again.show(topic())
    assert not again.hosting.doubts.all


@pytest.mark.parametrize("ending", [{"clean": True}, {"same_boot": True}], ids=["stopped", "killed"])
def test_what_was_relaxed_has_lost_nothing_if_the_page_cache_lived(machine: SimDisk, ending: dict[str, bool]) -> None:
    life = Life(machine)
    life.show(topic(flush_messages="1000"))
    life.write(count=5)
    if "clean" in ending:
        life.loop.run(life.partitions.close_all(life.turn.until_synced))
        life.save()
    again = Life(machine, **{"same_boot": False, **ending})
    again.show(topic())
    assert not again.hosting.doubts.all


def test_a_topic_that_is_made_durable_rests_on_the_disk_when_all_of_it_is_there(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic(flush_messages="1000"))
    life.hosting.doubts.on_told({})
    life.write(count=5)
    life.save()
    life.show(topic())
    life.save()
    again = Life(machine, same_boot=False)
    again.show(topic())
    assert not again.hosting.doubts.all


def test_a_recovery_point_is_never_above_what_is_synced(machine: SimDisk) -> None:
    """Or the torn end of a power cut would look like damage."""
    life = Life(machine)
    life.show(topic())
    life.write(count=3)
    life.partitions.hosted("orders", 0).appends.append(memoryview(batch()), -1, 9, NOW)
    life.save()
    cut_off_the_end(life)
    again = Life(machine)
    again.show(topic())
    assert not again.hosting.doubts.all
    assert again.end_of() == 3


def test_a_lower_recovery_point_is_on_disk_before_a_cut(machine: SimDisk) -> None:
    """After a crash in the midst of it recovery must scan from there."""
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    life.save()
    partition = life.partitions.hosted("orders", 0)
    written: list[int] = []

    def cut() -> None:
        points = checkpoint.load(life.disk, "/data/recovery-points").offsets
        written.append(points[partition.written_as])
        partition.following.truncate(2, NOW)

    life.loop.run(life.checkpoints.before_cut(partition, 2, cut))
    assert written == [2]


def test_a_torn_end_is_no_damage(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    cut_off_the_end(life)
    again = Life(machine)
    again.show(topic())
    assert not again.hosting.doubts.all
    assert again.end_of() == 4


def test_a_directory_that_vanished_is_damage(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    life.save()
    life.disk.remove_tree("/data/logs/orders-0")
    again = Life(machine)
    again.show(topic())
    assert again.hosting.doubts.all == {(b"a" * 16, 0): Doubt.DAMAGED}


def test_one_that_cannot_be_opened_holds_up_nobody_and_keeps_its_checkpoint(machine: SimDisk) -> None:
    topics = (topic(), topic("fine", b"b" * 16))
    life = Life(machine)
    life.show(*topics)
    life.write(count=5)
    life.partitions.hosted("orders", 0).upkeep.delete_records(2)
    life.save()
    life.disk.write_atomic("/data/logs/orders-0/topic.id", b"garbage")
    second = Life(machine)
    second.show(*topics)
    code, message = second.refusal()
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert f"write {format_id(b'a' * 16)} into it" in message
    second.write("fine")
    second.save()
    assert sorted(Life(machine).checkpoints.recovery_points.values()) == [1, 5]
    second = Life(machine)
    second.disk.write_atomic("/data/logs/orders-0/topic.id", format_id(b"a" * 16).encode())
    third = Life(machine)
    third.show(*topics)
    partition = third.partitions.hosted("orders", 0)
    assert (partition.log.start_offset, partition.log.end_offset) == (2, 5)


def test_a_topic_made_on_a_full_disk_is_opened_when_there_is_room(machine: SimDisk) -> None:
    life = Life(machine)
    machine.capacity_bytes = machine.used_bytes()
    life.show(topic())
    assert life.refusal()[0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert life.hosting.openings.needs_room
    machine.capacity_bytes = None
    life.show(topic())
    life.write()
    assert not life.hosting.openings.needs_room


def test_a_directory_of_nobodys_is_set_aside_and_never_deleted(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.write()
    again = Life(machine)
    again.hosting.set_strays_aside(image_of())
    again.show(topic(id=b"b" * 16))
    assert again.end_of() == 0
    assert sorted(again.disk.listdir("/data/logs")) == ["orders-0", "orders-0.stray"]
    assert any(name.endswith(".log") for name in again.disk.listdir("/data/logs/orders-0.stray"))


def test_names_longer_than_a_file_name_may_be(machine: SimDisk) -> None:
    life = Life(machine)
    long = [topic("x" * 248 + end, end.encode() * 16) for end in "ab"]
    life.show(*long)
    for each in long:
        life.write(each.name)
    assert all(len(name) <= 255 for name in life.disk.listdir("/data/logs"))
    again = Life(machine)
    again.hosting.set_strays_aside(image_of(*long))
    again.show(*long)
    assert [again.end_of(each.name) for each in long] == [1, 1]


def test_checkpoints_are_written_one_after_the_other(machine: SimDisk) -> None:
    """The later one has the newer values, also when whoever asked for it is gone."""
    life = Life(machine)
    life.show(topic())
    life.write(count=2)
    life.loop.work_seconds = 1.0
    first = life.loop.create_task(life.checkpoints.save())
    life.loop.pass_time(0.5)
    first.cancel()
    second = life.loop.create_task(life.checkpoints.save())
    life.loop.pass_time(0.1)
    life.partitions.hosted("orders", 0).appends.append(memoryview(batch()), -1, 9, NOW)
    life.loop.pass_time(60.0)
    assert first.cancelled() and second.done()
    again = Life(machine)
    assert list(again.checkpoints.recovery_points.values()) == [3]


def test_a_checkpoint_without_news_is_not_written_again(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic(), topic("quiet", b"b" * 16))
    life.write()
    life.save()
    life.disk.unlink("/data/recovery-points")
    life.save()
    assert not life.disk.exists("/data/recovery-points"), (
        "with a hundred thousand partitions that is megabytes each time"
    )
    life.write()
    life.save()
    assert sorted(Life(machine).checkpoints.recovery_points.values()) == [0, 2]


def test_what_could_not_be_written_down_is_written_with_the_next(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.write(count=3)
    machine.capacity_bytes = machine.used_bytes()
    with pytest.raises(DiskFull):
        life.save()
    machine.capacity_bytes = None
    life.save()
    assert list(Life(machine).checkpoints.recovery_points.values()) == [3]


def test_a_deleted_topic_leaves_the_checkpoint(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic(), topic("other", b"b" * 16))
    life.save()
    life.show(topic())
    life.save()
    assert len(Life(machine).checkpoints.recovery_points) == 1


def test_only_what_is_not_settled_is_looked_at_as_time_passes(machine: SimDisk) -> None:
    behind = PartitionState((ME, OTHER), (ME, OTHER), ME, 1)
    life = Life(machine)
    life.show(topic(), topic("behind", b"b" * 16, (behind,)), topic("quiet", b"c" * 16))
    for _ in range(2):
        assert [each.id.topic for each in life.checkpoints.moved.restless()] == ["behind"], (
            "its follower was not heard of yet"
        )
    life.partitions.hosted("behind", 0).in_sync.on_follower_fetch(OTHER, 1, 0, NOW)
    assert life.checkpoints.moved.restless() == []
    life.partitions.hosted("behind", 0).appends.append(memoryview(batch()), -1, 9, NOW)
    assert [each.id.topic for each in life.checkpoints.moved.restless()] == ["behind"]
    life.show(topic())
    assert life.checkpoints.moved.restless() == []


def test_who_changed_is_told_and_nobody_else(machine: SimDisk) -> None:
    life = Life(machine)
    one, two = topic(), topic("two", b"b" * 16)
    assert len(life.show(one, two)) == 2
    moved = one._replace(partitions=(LED._replace(leader_epoch=2),))
    assert [each.id.topic for each in life.show(moved, two)] == ["orders"]
    (gone,) = life.show(moved)
    assert (gone.id.topic, gone.is_gone) == ("two", True)


def test_a_log_without_records_opens_no_file(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic(), topic("written", b"b" * 16))
    life.write("written")
    again = Life(machine)
    again.show(topic(), topic("written", b"b" * 16))
    assert len(again.files.pool) == 1


def hang(life: Life) -> None:
    life.loop.hung = lambda: True


def reconcile(life: Life, *topics: Topic) -> list[Partition]:
    """The image alone; what is to be opened waits."""
    changed: list[Partition] = life.loop.run(life.hosting.reconciliation.reconcile(image_of(*topics), BrokerConfig({})))
    return changed


def test_an_image_is_applied_while_the_disk_hangs(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    life.loop.create_task(life.hosting.openings.run())
    hang(life)
    two = topic("two", b"b" * 16)
    assert reconcile(life, topic(), two) == []
    life.loop.pass_time(1.0)
    assert life.refusal("two")[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER
    moved = topic(states=(LED._replace(leader_epoch=2),))
    assert [each.leader_epoch for each in reconcile(life, moved, two)] == [2]
    life.loop.hung = bool
    life.loop.pass_time(1.0)
    assert [str(each.id) for each in life.opened if each.id.topic == "two"] == ["two-0"]
    life.write("two")


def test_one_that_is_opened_late_is_told_what_changed_meanwhile(machine: SimDisk) -> None:
    life = Life(machine)
    life.loop.create_task(life.hosting.openings.run())
    hang(life)
    reconcile(life, topic())
    life.loop.pass_time(1.0)
    reconcile(life, topic(states=(LED._replace(leader_epoch=7),)))
    life.loop.hung = bool
    life.loop.pass_time(1.0)
    assert life.partitions.hosted("orders", 0).leader_epoch == 7


@pytest.mark.parametrize("is_made_again", [False, True])
def test_one_that_was_deleted_while_it_was_opened_is_gone(machine: SimDisk, is_made_again: bool) -> None:
    life = Life(machine)
    life.loop.create_task(life.hosting.openings.run())
    hang(life)
    reconcile(life, topic())
    life.loop.pass_time(1.0)
    reconcile(life)
    after = [topic(id=b"n" * 16)] if is_made_again else []
    reconcile(life, *after)
    life.loop.hung = bool
    life.loop.pass_time(1.0)
    assert [each.topic_id for each in life.partitions] == [each.id for each in after]
    assert life.disk.listdir("/data/logs") == ["orders-0"] * is_made_again


def test_who_waits_for_a_topic_to_open_waits_only_so_long(machine: SimDisk) -> None:
    life = Life(machine)
    life.loop.create_task(life.hosting.openings.run())
    hang(life)
    reconcile(life, topic())
    life.loop.run(life.hosting.openings.until_opened("orders", 5.0))
    assert len(life.partitions) == 0
    life.loop.hung = bool
    life.loop.run(life.hosting.openings.until_opened("orders", 5.0))
    assert len(life.partitions) == 1


def in_segments(life: Life, count: int) -> Partition:
    """One record each, so that any start can retire some."""
    partition = life.partitions.hosted("orders", 0)
    for number in range(count):
        if number:
            partition.upkeep.roll(NOW)
        partition.appends.append(memoryview(batch(b"v" * 1000)), -1, 9, NOW)
        life.loop.run_ready()
    return partition


def test_segments_go_below_the_start_that_was_written_down_and_not_below_a_later_one(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    partition = in_segments(life, 5)
    partition.upkeep.delete_records(2)
    life.save()
    partition.upkeep.delete_records(4)
    life.loop.run(life.checkpoints.remove_retired())
    assert partition.log.segments.all[0].base_offset == 2, "a power cut now would start at 2"
    life.save()
    life.loop.run(life.checkpoints.remove_retired())
    assert partition.log.segments.all[0].base_offset == 4


def test_many_segments_go_a_few_at_a_time(machine: SimDisk) -> None:
    """All in one operation would take as long as a disk that hangs, and cost the broker its lease."""
    life = Life(machine)
    life.show(topic())
    partition = in_segments(life, 3 * UNLINK_PER_TURN)
    partition.upkeep.delete_records(partition.high_watermark)
    life.save()
    life.loop.work_seconds = 1.0
    life.loop.create_task(life.checkpoints.remove_retired())
    life.loop.pass_time(1.5)
    assert len(doomed(life, partition.log.path)) == 2 * UNLINK_PER_TURN - 1
    life.loop.pass_time(60.0)
    assert doomed(life, partition.log.path) == []


def doomed(life: Life, path: str) -> list[str]:
    return [name for name in life.disk.listdir(path) if name.endswith(".deleted")]


def test_a_wide_topic_that_is_deleted_takes_one_thread(machine: SimDisk) -> None:
    """In all threads its directories would be in front of every sync, and of what tells a slow disk from a hung one."""
    life = Life(machine)
    life.show(topic(states=(LED,) * 20))
    life.loop.work_seconds = 1.0
    reconcile(life)
    life.loop.pass_time(1.5)
    assert len(doomed(life, "/data/logs")) == 19
    life.loop.pass_time(30.0)
    assert life.disk.listdir("/data/logs") == []


def test_a_disk_full_to_the_last_byte_can_be_emptied(machine: SimDisk) -> None:
    life = Life(machine)
    life.show(topic())
    partition = in_segments(life, 5)
    machine.capacity_bytes = machine.used_bytes()
    with pytest.raises(DiskFull):
        life.save()
    assert life.disk.exists("/data/spare-room"), "it is given up only for what makes room"
    partition.upkeep.delete_records(4)
    life.save()
    life.loop.run(life.checkpoints.remove_retired())
    assert partition.log.segments.all[0].base_offset == 4
    assert not life.disk.exists("/data/spare-room")
    machine.capacity_bytes = None
    life.loop.run(life.checkpoints.remove_retired())
    assert life.disk.exists("/data/spare-room"), "it is there for the next time"


def test_who_waits_for_a_partition_that_is_gone_waits_for_nothing(machine: SimDisk) -> None:
    """A fetcher that still has it would never copy anything else: no sync proves what is gone."""
    life = Life(machine)
    life.show(topic())
    partition = life.partitions.hosted("orders", 0)
    partition.appends.append(memoryview(batch()), 1, 9, NOW)
    syncing = Syncing()
    assert partition.until_proven(syncing)
    reconcile(life)
    assert partition.is_gone
    assert not partition.until_proven(syncing)


def test_one_that_comes_back_while_its_checkpoint_is_written_is_not_damaged(machine: SimDisk) -> None:
    """Moved away and back: the file that was being written names its old log."""
    life = Life(machine)
    life.show(topic())
    life.write(count=5)
    life.loop.work_seconds = 1.0
    saving = life.loop.create_task(life.checkpoints.save())
    life.loop.pass_time(0.5)
    reconcile(life)
    life.loop.pass_time(20.0)
    assert saving.done()
    life.show(topic())
    life.write(count=1)
    again = Life(machine)
    again.show(topic())
    assert not again.hosting.doubts.all
