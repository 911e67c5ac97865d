"""Rules of followers, taken away one by one: what they copy, where they begin and cut, and what they call committed."""

from pytest import MonkeyPatch

from headrace.broker.replication import copier
from headrace.broker.replication.copier import ReplicaCopier
from headrace.broker.replication.fetcher import Fetcher
from headrace.partition.follow_session import FollowSession
from headrace.partition.following import Following
from headrace.replica import follower
from sim.mutant import edit
from sim.mutants.plays import by_story, by_test
from sim.restart_stories import REPLACED

FETCHER = "tests/unit/broker/test_broker_fetcher.py"
SESSION = "tests/unit/partition/test_follow_session.py"
TAKES = "tests/unit/broker/test_broker_fetcher_takes.py"
FOLLOWER = "tests/unit/replica/test_follower.py"


def damaged_batches_are_copied(patch: MonkeyPatch) -> None:
    """A follower takes no batch whose checksum does not fit."""
    edit(patch, follower.sound_batches, ("or not crc_ok(records, position, header.size)", ""))


def batches_below_the_end_are_copied(patch: MonkeyPatch) -> None:
    """A follower takes no batch that begins below the end of its log."""
    edit(patch, follower.sound_batches, ("header.base_offset < expected_offset", "False"))


def later_epochs_are_copied(patch: MonkeyPatch) -> None:
    """A follower takes no batch of a later epoch than the one it asked in."""
    edit(
        patch,
        follower.sound_batches,
        ("not own_epoch <= header.leader_epoch <= leader_epoch", "header.leader_epoch < own_epoch"),
    )


def earlier_epochs_are_copied(patch: MonkeyPatch) -> None:
    """A follower takes no batch of an earlier epoch than the last of its own log."""
    edit(
        patch,
        follower.sound_batches,
        ("not own_epoch <= header.leader_epoch <= leader_epoch", "header.leader_epoch > leader_epoch"),
    )


def what_no_leader_knows_stays(patch: MonkeyPatch) -> None:
    """Where the leader knows no epoch of a follower's, only what is committed stays."""
    edit(patch, follower.cut_for, ("return high_watermark", "return own_end"))


def what_comes_after_an_unknown_epoch_stays(patch: MonkeyPatch) -> None:
    """Where a follower knows no epoch of its leader's, it cuts what comes after that epoch."""
    edit(patch, follower.cut_for, ("return leader_end", "return own_end"))


def tails_are_named_before_they_are_proven(patch: MonkeyPatch) -> None:
    """A follower names nothing of a log whose tail is not on disk: the last epoch would be the tail's."""
    edit(patch, FollowSession._position, (" or not partition.is_proven", ""))


def tails_are_looked_at_once(patch: MonkeyPatch) -> None:
    """A follower waits until its tail is on disk, also when a change of state ends that wait."""
    edit(patch, Fetcher._until_proven, ("while self._unproven:", "for _ in (1,):"))


def answers_of_other_epochs_are_taken(patch: MonkeyPatch) -> None:
    """A follower takes an answer only in the epoch in which it asked."""
    edit(patch, Fetcher._take, ("if partition.leader_epoch == position.leader_epoch:", "if True:"))


def every_refusal_starts_a_log_over(patch: MonkeyPatch) -> None:
    """A follower drops its log only if it ends before the leader's begins, or has lost its own beginning."""
    patch.setattr(ReplicaCopier, "_must_start_over", lambda self, partition, start: True)


def logs_start_over_for_former_leaders(patch: MonkeyPatch) -> None:
    """A follower starts over only in the epoch in which that was decided, and only if it is still needed."""
    patch.setattr(copier, "_follows_on", lambda partition, position: not partition.is_leader)
    every_refusal_starts_a_log_over(patch)


def logs_are_not_started_over(patch: MonkeyPatch) -> None:
    """A follower whose log ends before the leader's begins starts over where that begins."""
    patch.setattr(ReplicaCopier, "_must_start_over", lambda self, partition, start: False)


def lost_heads_stay_lost(patch: MonkeyPatch) -> None:
    """A follower that has lost the beginning of its log, and on which nobody counts, starts over."""
    patch.setattr(ReplicaCopier, "_has_our_head", lambda self, partition, part: False)


def heads_of_replicas_in_sync_are_dropped(patch: MonkeyPatch) -> None:
    """A follower that counts as in sync keeps what it has, though the beginning of its log is lost."""
    edit(patch, ReplicaCopier._lacks_head, (" and self._home.id not in partition.state.isr", ""))


def logs_begin_inside_batches(patch: MonkeyPatch) -> None:
    """A replica that begins in the midst of a batch takes that batch whole."""

    async def never(self: ReplicaCopier, *part: object) -> bool:
        return False

    patch.setattr(ReplicaCopier, "_began_inside_a_batch", never)


def copies_ask_for_no_room(patch: MonkeyPatch) -> None:
    """Copies leave an eighth of the reserve, so that what is deleted can be written down."""
    edit(patch, ReplicaCopier._append, ("self._home.check_room(end)", "pass"))


def starts_are_not_followed(patch: MonkeyPatch) -> None:
    """A follower lets go of what its leader let go of."""
    edit(patch, Following.on_leader_word, ("if start_offset > role.log.start_offset:", "if False:"))


def starts_pass_the_watermark(patch: MonkeyPatch) -> None:
    """A follower's log never starts above its own high watermark."""
    edit(
        patch,
        Following.on_leader_word,
        ("role.log.advance_start(min(start_offset, role.high_watermark))", "role.log.advance_start(start_offset)"),
    )


FOLLOWING = (
    by_test(
        "damaged-batches-are-copied",
        damaged_batches_are_copied,
        f"{FOLLOWER}::test_a_batch_whose_checksum_does_not_fit_is_not_taken",
    ),
    by_test(
        "batches-below-the-end-are-copied",
        batches_below_the_end_are_copied,
        f"{FOLLOWER}::test_a_batch_below_the_end_is_not_taken",
    ),
    by_test(
        "later-epochs-are-copied", later_epochs_are_copied, f"{FOLLOWER}::test_a_batch_of_a_later_epoch_is_not_taken"
    ),
    by_test(
        "earlier-epochs-are-copied",
        earlier_epochs_are_copied,
        f"{FOLLOWER}::test_a_batch_of_an_earlier_epoch_than_our_log_has_is_not_taken",
    ),
    by_test(
        "what-no-leader-knows-stays",
        what_no_leader_knows_stays,
        f"{FOLLOWER}::test_where_the_leader_knows_no_epoch_of_ours_only_what_is_committed_stays",
    ),
    by_test(
        "what-comes-after-an-unknown-epoch-stays",
        what_comes_after_an_unknown_epoch_stays,
        f"{FOLLOWER}::test_where_we_know_no_epoch_of_the_leaders_all_after_it_goes",
    ),
    by_test(
        "tails-are-named-before-they-are-proven",
        tails_are_named_before_they_are_proven,
        f"{SESSION}::test_the_offset_is_what_is_on_disk",
    ),
    by_test(
        "tails-are-looked-at-once",
        tails_are_looked_at_once,
        f"{FETCHER}::test_a_change_of_state_does_not_end_the_wait_for_the_sync",
    ),
    by_test(
        "answers-of-other-epochs-are-taken",
        answers_of_other_epochs_are_taken,
        f"{TAKES}::test_an_answer_of_an_earlier_epoch_is_not_taken",
    ),
    by_test(
        "every-refusal-starts-a-log-over",
        every_refusal_starts_a_log_over,
        f"{TAKES}::test_a_log_that_the_leader_has_all_of_is_kept_when_it_is_refused",
    ),
    by_story(
        "logs-start-over-for-former-leaders",
        logs_start_over_for_former_leaders,
        ("in-sync", "synced-ack", "no-ack-lost"),
        REPLACED,
    ),
    by_test(
        "logs-are-not-started-over",
        logs_are_not_started_over,
        f"{TAKES}::test_a_log_that_ends_before_the_leaders_begins_starts_over_there",
    ),
    by_test(
        "lost-heads-stay-lost",
        lost_heads_stay_lost,
        f"{TAKES}::test_a_log_that_lost_its_beginning_starts_over_where_nobody_counts_on_it",
    ),
    by_test(
        "heads-of-replicas-in-sync-are-dropped",
        heads_of_replicas_in_sync_are_dropped,
        f"{TAKES}::test_a_log_that_lost_its_beginning_stays_while_it_counts_as_in_sync",
    ),
    by_test(
        "logs-begin-inside-batches",
        logs_begin_inside_batches,
        "tests/sim/test_found.py::test_a_replica_begins_where_records_were_deleted_up_to_the_midst_of_a_batch",
    ),
    by_test(
        "copies-ask-for-no-room",
        copies_ask_for_no_room,
        f"{TAKES}::test_without_room_for_copies_it_takes_none_and_leaves_the_in_sync_set",
    ),
    by_test("starts-are-not-followed", starts_are_not_followed, f"{TAKES}::test_it_starts_where_its_leader_starts"),
    by_test(
        "starts-pass-the-watermark", starts_pass_the_watermark, f"{TAKES}::test_its_start_never_passes_its_watermark"
    ),
)
