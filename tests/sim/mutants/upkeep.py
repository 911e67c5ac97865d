"""Rules of what is cut, deleted, kept and counted beside the way of an ack, taken away one by one."""

from pytest import MonkeyPatch

from headrace.broker.checkpoints import Checkpoints
from headrace.broker.disk import syncfs
from headrace.broker.disk.room import DiskRoom
from headrace.broker.disk.spare_room import SpareRoom
from headrace.broker.hosting.openings import Openings
from headrace.broker.hosting.reconciliation import Reconciliation
from headrace.cluster import config_changes
from headrace.log.log import Log
from headrace.log.retention import start_by_size, start_by_time
from headrace.log.snapshots import Snapshots
from headrace.log.state import LogState
from headrace.partition.reads import Reads
from headrace.stores import frozen_groups, process_life
from sim.absence_teeth import absent_replicas_are_forgotten
from sim.full_disk_teeth import FULL_DISK_TEETH
from sim.mutant import Mutant, edit
from sim.mutants.plans import MIXED, ONE, SAFETY, THREE
from sim.mutants.plays import by_test
from sim.test_clocks import all_ages_are_known, no_clock_is_doubted

ROOM = "tests/unit/broker/test_broker_disk_room.py"
BOUNDS = "tests/unit/log/test_log_bounds.py"
DISKS = "tests/sim/test_disk_storms.py"
CLOCKS = "tests/sim/test_clocks.py"


def snapshots_that_failed_are_looked_for(patch: MonkeyPatch) -> None:
    """A snapshot that could not be written again is gone, and is not looked for."""
    edit(patch, Snapshots.write, ("if offset in self._offsets:", "if False:"))


def snapshots_come_at_rolls_only(patch: MonkeyPatch) -> None:
    """A snapshot is due after so many batches, so that a cut replays few on the event loop."""
    patch.setattr(Snapshots, "is_due_after", lambda self, batches, bytes, config, state: False)


def no_room_is_spared(patch: MonkeyPatch) -> None:
    """A disk that is full to the last byte has some room left to write down what is deleted."""
    patch.setattr(SpareRoom, "give_up", lambda self: False)


def copies_fill_the_disk(patch: MonkeyPatch) -> None:
    """Copies are refused before they take what is left for the records of coordinators."""
    patch.setattr(DiskRoom, "check_copy", lambda self, size: None)


def full_disks_flap(patch: MonkeyPatch) -> None:
    """A disk that was full leads again when there is clearly more room than the reserve."""
    edit(patch, DiskRoom.look, ("self.is_low or (self.is_full and free_bytes < lead_again_bytes)", "self.is_low"))


def segments_go_before_that_is_written_down(patch: MonkeyPatch) -> None:
    """Segments are deleted below a start that is on disk, not below that of now."""
    edit(patch, Log.retire_segments, ("min(durable_start, self.start_offset)", "self.start_offset"))


def checkpoints_come_between(patch: MonkeyPatch) -> None:
    """No checkpoint comes between a lower recovery point and the cut that it is for."""
    edit(
        patch,
        Checkpoints.before_cut,
        (
            "await self._in_turn(self._before_cut(partition, offset, cut, start))",
            "await self._before_cut(partition, offset, cut, start)",
        ),
    )


def openings_hold_up_images(patch: MonkeyPatch) -> None:
    """Partitions are opened beside the image: a wide topic holds up no fail-over."""
    reconcile = Reconciliation.reconcile

    async def reconcile_and_open(self: Reconciliation, *image: object) -> object:
        changed = await reconcile(self, *image)  # type: ignore[arg-type]
        await self._openings.open_waiting()
        return changed

    async def nothing(self: Openings) -> None:
        self._is_started = True

    patch.setattr(Reconciliation, "reconcile", reconcile_and_open)
    patch.setattr(Openings, "run", nothing)


def producers_are_without_number(patch: MonkeyPatch) -> None:
    """A partition remembers so many producers, and forgets whoever has not written for longest."""
    patch.setattr(LogState, "forget_surplus", lambda self, producers_max: None)


def clocks_age_producers(patch: MonkeyPatch) -> None:
    """A producer is forgotten when it has not written for long, whatever the wall clock is set to."""
    patch.setattr(Log, "steady", lambda self, now: now.wall)


def retention_takes_too_much(patch: MonkeyPatch) -> None:
    """Retention by size leaves as much as the topic is to keep."""
    edit(patch, start_by_size, (" - retention_bytes", ""))


def young_records_are_deleted(patch: MonkeyPatch) -> None:
    """Retention by time leaves what is younger than the topic is to keep."""
    edit(patch, start_by_time, ("now_ms - retention_ms", "now_ms"))


def times_find_a_later_record(patch: MonkeyPatch) -> None:
    """A time finds the first record that is not older."""
    edit(patch, Reads.find_by_time, ("return found[1], found[0]", "return found[1], found[0] + 1"))


def every_syncfs_is_a_proof(patch: MonkeyPatch) -> None:
    """One syncfs stands for many syncs only on kernels that report every failure by it."""
    patch.setattr(syncfs, "_REPORTS_SINCE", (5, 8))


def internal_topics_may_be_relaxed(patch: MonkeyPatch) -> None:
    """An internal topic stays durable and compacted, whatever it is set to."""
    patch.setattr(config_changes, "with_required", lambda topic, config: config)


def cgroups_do_not_freeze(patch: MonkeyPatch) -> None:
    """A process that a cgroup froze in the midst of a write to the store is found, though no state of it shows that."""
    edit(
        patch,
        frozen_groups.is_frozen,
        ("return any(_is_frozen(folder, top) for folder, top in _folders(pid, proc))", "return False"),
    )


def a_life_without_a_file_is_over(patch: MonkeyPatch) -> None:
    """A broker whose life file somebody deleted is alive as long as its lease."""
    edit(
        patch,
        process_life.is_over,
        ("except FileNotFoundError:\n        return False", "except FileNotFoundError:\n        return True"),
    )


def clocks_are_believed(patch: MonkeyPatch) -> None:
    """A clock that is set ahead deletes nothing for an hour, and who starts to coordinate deletes no offset for its age."""
    no_clock_is_doubted(patch)
    all_ages_are_known(patch)


def new_coordinators_know_all_ages(patch: MonkeyPatch) -> None:
    """Who starts to coordinate deletes nothing for its age in the first hour: the clock that stamped it may have been
    wrong."""
    all_ages_are_known(patch)


UPKEEP = (
    by_test(
        "snapshots-come-at-rolls-only",
        snapshots_come_at_rolls_only,
        "tests/unit/log/test_log_snapshots.py::test_a_cut_replays_no_more_than_the_batches_between_two_snapshots",
    ),
    by_test(
        "snapshots-that-failed-are-looked-for",
        snapshots_that_failed_are_looked_for,
        "tests/unit/log/test_log_snapshots.py::test_a_snapshot_that_could_not_be_written_again_is_not_looked_for",
    ),
    by_test(
        "no-room-is-spared", no_room_is_spared, f"{DISKS}::test_a_disk_full_to_the_last_byte_is_emptied_by_retention"
    ),
    by_test("copies-fill-the-disk", copies_fill_the_disk, f"{ROOM}::test_copies_leave_a_smaller_reserve"),
    by_test(
        "full-disks-flap",
        full_disks_flap,
        f"{ROOM}::test_a_disk_that_was_full_leads_again_with_clearly_more_than_the_reserve",
    ),
    *FULL_DISK_TEETH,
    by_test(
        "segments-go-before-that-is-written-down",
        segments_go_before_that_is_written_down,
        "tests/unit/broker/test_broker_partitions.py::test_segments_go_below_the_start_that_was_written_down_and_not_below_a_later_one",
    ),
    by_test(
        "checkpoints-come-between",
        checkpoints_come_between,
        "tests/sim/test_found.py::test_no_checkpoint_comes_between_a_lower_recovery_point_and_its_cut",
    ),
    by_test("openings-hold-up-images", openings_hold_up_images, f"{DISKS}::test_a_wide_topic_holds_up_no_fail_over"),
    by_test(
        "producers-are-without-number",
        producers_are_without_number,
        f"{BOUNDS}::test_whoever_has_not_written_for_longest_is_forgotten_first",
    ),
    by_test("clocks-age-producers", clocks_age_producers, f"{BOUNDS}::test_a_clock_that_is_set_forgets_no_producer"),
    Mutant("retention-takes-too-much", retention_takes_too_much, ("retained",), MIXED._replace(gap=0.4)),
    Mutant("young-records-are-deleted", young_records_are_deleted, (*SAFETY, "by-time"), ONE),
    Mutant("times-find-a-later-record", times_find_a_later_record, ("by-time",), THREE),
    by_test(
        "every-syncfs-is-a-proof",
        every_syncfs_is_a_proof,
        "tests/unit/broker/test_syncfs.py::test_a_kernel_that_keeps_some_to_itself",
    ),
    by_test(
        "internal-topics-may-be-relaxed",
        internal_topics_may_be_relaxed,
        "tests/unit/cluster/test_config_changes.py::test_an_internal_topic_stays_durable_and_compacted",
    ),
    by_test(
        "absent-replicas-are-forgotten",
        absent_replicas_are_forgotten,
        "tests/sim/test_long_absences.py::test_a_deleted_key_stays_deleted",
    ),
    by_test(
        "clocks-are-believed", clocks_are_believed, f"{CLOCKS}::test_committed_offsets_stay_when_clocks_are_set_ahead"
    ),
    by_test(
        "new-coordinators-know-all-ages",
        new_coordinators_know_all_ages,
        f"{CLOCKS}::test_committed_offsets_stay_when_the_clock_of_another_coordinator_is_ahead",
    ),
    by_test(
        "cgroups-do-not-freeze",
        cgroups_do_not_freeze,
        "tests/unit/stores/test_frozen_groups.py::test_what_a_container_sees",
    ),
    by_test(
        "a-life-without-a-file-is-over",
        a_life_without_a_file_is_over,
        "tests/unit/stores/test_sqlite_replaced.py::test_a_live_broker_whose_life_file_was_deleted_is_not_taken_for_dead",
    ),
)
