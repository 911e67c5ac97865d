"""Rules of logs, syncs, checkpoints and recovery, taken away one by one."""

from pytest import MonkeyPatch

from headrace.base.clock import Now
from headrace.broker.checkpoints import Checkpoints
from headrace.broker.disk.directory import DataDirectory
from headrace.broker.disk.flusher import Flusher
from headrace.broker.hosting.opener import Opener
from headrace.broker.membership.membership import Membership
from headrace.broker.node import Node
from headrace.broker.turn import Turn
from headrace.cluster import rejoin
from headrace.log import recovery, scan
from headrace.log.log import Log
from headrace.log.segment import Segment
from headrace.log.segments import LogSegments
from headrace.log.snapshots import Snapshots
from headrace.log.state import LogState
from headrace.log.sync import SyncState
from sim.lease_stories import LATE_ANSWERS
from sim.mutant import Mutant, edit
from sim.mutants.plans import BUSY, CUTS, DISKS, HANGS, MIXED, ROT, SAFETY
from sim.mutants.plays import by_story, by_test

ALL = (*SAFETY, *HANGS, "no-bug")


def truncations_void_nothing(patch: MonkeyPatch) -> None:
    """A truncation voids a sync that is under way: it proved other bytes."""
    edit(patch, SyncState.on_synced, ("ticket.truncations == self.truncations and ", ""))


def truncations_keep_the_synced_end(patch: MonkeyPatch) -> None:
    """A truncation takes back what was proven above it."""
    edit(patch, SyncState.on_truncated, ("min(self.synced_end, end_offset)", "self.synced_end"))


def sealed_files_are_not_synced(patch: MonkeyPatch) -> None:
    """A roll leaves the sealed file to the next sync, before which nothing in it counts."""
    edit(patch, Log.roll, ("sealed.seal()", "sealed.seal(); self.sync.forget(sealed.log_path)"))


def new_segments_are_not_named(patch: MonkeyPatch) -> None:
    """The directory that names a new segment is synced before anything in it counts."""
    edit(patch, LogSegments.begin_at, ("self.sync.touch_directory(self.directory)", "pass"))


def recovered_logs_count_as_synced(patch: MonkeyPatch) -> None:
    """After an unclean stop nothing above the recovery point counts before it was synced again."""
    take_up = Log.take_up

    def trusting(self: Log, segments: list[Segment], state: LogState, synced_end: int, now: Now) -> None:
        take_up(self, segments, state, segments[-1].next_offset, now)

    patch.setattr(Log, "take_up", trusting)


def checkpoints_run_ahead(patch: MonkeyPatch) -> None:
    """A recovery point is never above what is synced."""
    edit(patch, Checkpoints._note, ("partition.log.sync.synced_end", "partition.log.end_offset"))


def cuts_leave_the_recovery_point(patch: MonkeyPatch) -> None:
    """A lower recovery point is on disk before a log is cut."""
    edit(
        patch,
        Checkpoints._before_cut,
        ("await self._save_file(self._recovery_points_path, dict(self.recovery_points), frees=True)", "pass"),
        ("self.recovery_points[name] = min(partition.log.sync.synced_end, offset)", "pass"),
    )


def states_survive_cuts(patch: MonkeyPatch) -> None:
    """After a cut, producers and epochs are what the rest of the log says."""
    edit(patch, Log._after_cut, ("_, self.state =", "_ ="))


def snapshots_survive_cuts(patch: MonkeyPatch) -> None:
    """A snapshot above a cut, or above the recovery point, is of a history that may be gone."""
    patch.setattr(Snapshots, "remove_above", lambda self, offset: None)


def segments_need_not_join(patch: MonkeyPatch) -> None:
    """Recovery goes on into a segment only if it begins where the last one ended."""
    edit(patch, recovery._Scan.goes_on, ("return self.unsound_bytes == 0 and", "return True or"))


def epochs_may_fall(patch: MonkeyPatch) -> None:
    """Recovery ends a log before a batch of an earlier epoch than the one before it."""
    edit(patch, scan.sound_batches, (" or header.leader_epoch < epoch", ""))


def clean_marks_stay(patch: MonkeyPatch) -> None:
    """The mark of a clean stop is gone before anything is written."""
    edit(patch, DataDirectory.take_clean_mark, ("self._disk.unlink(mark)", "pass"))


def clean_marks_stand_for_what_was_opened(patch: MonkeyPatch) -> None:
    """The mark of a clean stop stands for every log: with one that could not be opened there is none."""
    edit(patch, Node._close_logs, ("if not self.broker.hosting.openings.unopened:", "if True:"))


def failed_syncs_count(patch: MonkeyPatch) -> None:
    """After a sync that failed the broker stops: what reached the disk is unknown."""
    edit(patch, Flusher._end_round, ("if error is not None:", "if False:"))


def damage_is_not_named(patch: MonkeyPatch) -> None:
    """A broker that registers names what recovery found damaged, and leaves those in-sync sets."""
    edit(patch, Opener._note_damage, ("self._doubts.note(topic_id, wanted.number, Doubt.DAMAGED)", "pass"))


def damage_below_the_recovery_point_is_not_seen(patch: MonkeyPatch) -> None:
    """A log that ends below its recovery point is damaged."""
    edit(patch, Opener._note_damage, ("report.below_recovery_point or ", ""))


def rot_is_taken_for_a_torn_end(patch: MonkeyPatch) -> None:
    """A sound batch behind the cut says that more than a torn end is gone."""
    edit(patch, Opener._note_damage, (" or is_rot", ""))


def doubted_brokers_are_not_fenced_first(patch: MonkeyPatch) -> None:
    """A broker with something to give up is fenced by a commit of its own before that is decided."""
    edit(patch, rejoin.rejoin, ("if doubts and known is not None and known.epoch != FENCED:", "if False:"))


def syncs_outlive_the_lease(patch: MonkeyPatch) -> None:
    """The lease is looked at at the end of a turn, before anything is acknowledged."""
    edit(patch, Turn._tell, ("has_lease = self._has_lease()", "has_lease = True"))


def leases_count_from_their_answer(patch: MonkeyPatch) -> None:
    """A lease counts from before its renewal was sent, not from later."""
    edit(
        patch,
        Membership._set_deadline,
        ("known_at = min(sent_at, self._broker.metadata.as_of())", "known_at = self._broker.clock.now().mono + 1.0"),
    )


RECOVERY = "tests/unit/log/test_log_recovery.py"
PARTITIONS = "tests/unit/broker/test_broker_partitions.py"
SYNC = "tests/unit/log/test_log_sync.py"

STORAGE = (
    by_test(
        "truncations-void-nothing", truncations_void_nothing, f"{SYNC}::test_a_truncation_voids_the_ticket_in_flight"
    ),
    Mutant("truncations-keep-the-synced-end", truncations_keep_the_synced_end, ALL, CUTS, (MIXED,)),
    by_test(
        "sealed-files-are-not-synced",
        sealed_files_are_not_synced,
        f"{SYNC}::test_a_roll_syncs_the_sealed_file_and_the_directory_too",
    ),
    Mutant("new-segments-are-not-named", new_segments_are_not_named, ALL, BUSY),
    by_test(
        "recovered-logs-count-as-synced",
        recovered_logs_count_as_synced,
        f"{RECOVERY}::test_after_a_kill_everything_is_there_and_unsynced",
    ),
    by_test(
        "checkpoints-run-ahead",
        checkpoints_run_ahead,
        f"{PARTITIONS}::test_a_recovery_point_is_never_above_what_is_synced",
    ),
    by_test(
        "cuts-leave-the-recovery-point",
        cuts_leave_the_recovery_point,
        f"{PARTITIONS}::test_a_lower_recovery_point_is_on_disk_before_a_cut",
    ),
    Mutant("states-survive-cuts", states_survive_cuts, ALL, CUTS, (MIXED,)),
    by_test(
        "snapshots-survive-cuts",
        snapshots_survive_cuts,
        "tests/sim/test_log_crashes.py::test_synced_batches_survive_any_crash[0]",
    ),
    by_test(
        "segments-need-not-join", segments_need_not_join, f"{RECOVERY}::test_a_missing_segment_ends_the_log_before_it"
    ),
    by_test(
        "epochs-may-fall", epochs_may_fall, f"{RECOVERY}::test_an_older_epoch_after_a_newer_one_is_of_another_history"
    ),
    by_test(
        "clean-marks-stay",
        clean_marks_stay,
        "tests/unit/broker/test_broker_directory.py::test_the_clean_mark_is_good_for_one_start",
    ),
    by_test(
        "clean-marks-stand-for-what-was-opened",
        clean_marks_stand_for_what_was_opened,
        "tests/unit/broker/test_broker_node.py::test_a_stop_with_a_log_that_could_not_be_opened_leaves_no_clean_mark",
    ),
    Mutant("failed-syncs-count", failed_syncs_count, ALL, DISKS, (MIXED,)),
    Mutant("damage-is-not-named", damage_is_not_named, ALL, ROT),
    by_test(
        "damage-below-the-recovery-point-is-not-seen",
        damage_below_the_recovery_point_is_not_seen,
        f"{PARTITIONS}::test_a_log_that_ends_below_its_recovery_point_is_damaged",
    ),
    by_test(
        "rot-is-taken-for-a-torn-end",
        rot_is_taken_for_a_torn_end,
        f"{PARTITIONS}::test_a_hole_above_the_recovery_point",
    ),
    by_test(
        "doubted-brokers-are-not-fenced-first",
        doubted_brokers_are_not_fenced_first,
        "tests/unit/cluster/test_rejoin.py::test_a_leader_cannot_add_what_an_earlier_life_had_fetched",
    ),
    by_test(
        "syncs-outlive-the-lease",
        syncs_outlive_the_lease,
        "tests/unit/partition/test_turn.py::test_without_a_lease_nobody_is_told_that_an_offset_was_reached",
    ),
    by_story("leases-count-from-their-answer", leases_count_from_their_answer, ("lease",), LATE_ANSWERS),
)
