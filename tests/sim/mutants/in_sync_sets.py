"""Rules of who leaves the in-sync set and who is back in it, taken away one by one: stalls, lags, proposals on their way."""

from pytest import MonkeyPatch

from headrace.broker.replication.copier import ReplicaCopier
from headrace.broker.replication.isr_keeper import IsrKeeper
from headrace.partition.role import Role
from headrace.replica.leader import LeaderReplica
from headrace.replica.proposal import Underway
from headrace.replica.stalls import Stalls
from sim import isr_stories as stories
from sim.isr_teeth import stalled_followers_stay
from sim.mutant import Mutant, edit
from sim.mutants.plans import CHURN, HANGS, SAFETY
from sim.mutants.plays import by_story, by_test

ALL = (*SAFETY, *HANGS, "no-bug")
STALLS = "tests/unit/replica/test_leader_stalls.py"
LAG = "tests/unit/replica/test_leader_lag.py"
PROPOSALS = "tests/unit/replica/test_leader_proposals.py"
WIDE_CHURN = CHURN._replace(partitions=4)
KEEPER = "tests/unit/broker/test_broker_isr_keeper.py"


def too_few_may_stay(patch: MonkeyPatch) -> None:
    """A follower that stands still leaves only if a majority of the replicas and min.insync.replicas stay."""
    edit(patch, LeaderReplica.propose_without_stalled, (" or not self._is_enough(kept)", ""))


def slow_followers_count_as_stalled(patch: MonkeyPatch) -> None:
    """A follower that moves, however slowly, does not stand still."""
    edit(patch, Stalls.look, ("known is None or known.end_offset != end_offset", "known is None"))


def leaders_blame_others(patch: MonkeyPatch) -> None:
    """A leader that stood still itself does not take its followers for those that did."""
    edit(patch, Stalls.look, ("min(now - self._looked_at, LOOK_SECONDS_MAX)", "now - self._looked_at"))


def whoever_stalls_is_back_at_once(patch: MonkeyPatch) -> None:
    """A follower that left because it stood still stays outside for a moment."""
    edit(patch, Stalls.is_kept_out, ("known is not None and now < known.until", "False"))


def every_stall_counts_as_the_first(patch: MonkeyPatch) -> None:
    """A follower that stalls again and again stays outside for longer each time."""
    edit(patch, Stalls.keep_out, ("min(2 * before.seconds, KEPT_OUT_SECONDS_MAX)", "KEPT_OUT_SECONDS"))


def whoever_is_needed_is_kept_out(patch: MonkeyPatch) -> None:
    """Nobody is kept out who is needed for a majority or for min.insync.replicas."""
    edit(patch, LeaderReplica.propose_joiner, ("self._is_enough(self.isr) and ", ""))


def quiet_times_count(patch: MonkeyPatch) -> None:
    """How long a follower has been behind counts from the first record after a quiet time."""
    edit(patch, LeaderReplica._is_behind, ("max(follower.caught_up_at, self._left_end_at)", "follower.caught_up_at"))


def followers_must_be_at_the_very_end(patch: MonkeyPatch) -> None:
    """A follower keeps up that reaches what was the end when it asked before."""
    edit(patch, LeaderReplica.on_fetch, ("if offset >= follower.leader_end_then:", "if offset >= end_offset:"))


def dead_joiners_go_first(patch: MonkeyPatch) -> None:
    """A replica that is dead is not proposed, in front of those that live."""
    edit(patch, LeaderReplica.propose_waiting, (" if live.get(id) == follower.broker_epoch", ""))


def two_proposals_at_once(patch: MonkeyPatch) -> None:
    """One change of an in-sync set is on its way at a time."""
    edit(patch, LeaderReplica.propose_joiner, ("self.underway.proposal is not None or ", ""))
    edit(patch, Underway.begin, ("assert self.proposal is None", "assert True"))


def doubts_are_not_ended(patch: MonkeyPatch) -> None:
    """A proposal in doubt whose joiner died is ended by the store: the state of now is committed once more."""
    edit(patch, IsrKeeper._plan, ("affirm_isr(partition.topic_id, index, state)", "None"))


def proposals_outlive_their_state(patch: MonkeyPatch) -> None:
    """A proposal is sent only for the state that it was made for."""
    edit(
        patch,
        IsrKeeper._plan,
        ("if state is not partition.state or not partition.in_sync.is_proposed(proposal):", "if False:"),
    )


def conflicts_hold_up_others(patch: MonkeyPatch) -> None:
    """Of several proposals in one commit that conflicts each is sent again alone."""
    edit(patch, IsrKeeper._commit, ("if len(planned) > 1:", "if False:"))


def no_answer_is_a_refusal(patch: MonkeyPatch) -> None:
    """A proposal that the store did not answer is asked for again."""
    edit(
        patch,
        IsrKeeper._commit,
        ("self._queue = {**{partition: batch[partition] for partition in planned}, **self._queue}", "pass"),
    )


def dead_joiners_are_committed(patch: MonkeyPatch) -> None:
    """A joiner that is dead is not committed: the controller would only take it out again."""
    edit(patch, IsrKeeper._plan, ("self._check_alive(proposal)", "pass"))


def full_followers_stay(patch: MonkeyPatch) -> None:
    """A follower whose disk is full takes itself out of the in-sync set."""
    edit(patch, ReplicaCopier._on_disk_full, ("self._home.leave(partition)", "pass"))


def waiters_are_not_told_of_too_few(patch: MonkeyPatch) -> None:
    """Who waits for an ack is told when fewer than min.insync.replicas are left."""
    edit(patch, Role._on_changed, ("not self.leader.has_min_isr", "False"))


IN_SYNC_SETS = (
    by_story("stalled-followers-stay", stalled_followers_stay, ("goes-on",), stories.CUT_OFF),
    by_test("too-few-may-stay", too_few_may_stay, f"{STALLS}::test_where_too_few_would_stay_nobody_leaves"),
    by_test(
        "slow-followers-count-as-stalled",
        slow_followers_count_as_stalled,
        f"{STALLS}::test_one_that_moves_stays_however_slow_it_is",
    ),
    by_test(
        "leaders-blame-others", leaders_blame_others, f"{STALLS}::test_a_leader_that_stood_still_itself_blames_nobody"
    ),
    by_test(
        "whoever-stalls-is-back-at-once",
        whoever_stalls_is_back_at_once,
        f"{STALLS}::test_one_that_left_is_back_after_a_moment",
    ),
    by_test(
        "every-stall-counts-as-the-first",
        every_stall_counts_as_the_first,
        f"{STALLS}::test_one_that_stalls_again_stays_out_for_longer",
    ),
    by_test(
        "whoever-is-needed-is-kept-out",
        whoever_is_needed_is_kept_out,
        f"{STALLS}::test_one_that_left_is_back_at_once_when_it_is_needed",
    ),
    by_test("quiet-times-count", quiet_times_count, f"{LAG}::test_a_quiet_hour_costs_nobody_its_place"),
    by_test(
        "followers-must-be-at-the-very-end",
        followers_must_be_at_the_very_end,
        f"{LAG}::test_one_that_is_a_fetch_behind_keeps_up",
    ),
    by_test(
        "dead-joiners-go-first",
        dead_joiners_go_first,
        f"{PROPOSALS}::test_a_dead_follower_does_not_stand_in_front_of_one_that_lives",
    ),
    by_test(
        "two-proposals-at-once",
        two_proposals_at_once,
        f"{PROPOSALS}::test_a_follower_whose_proposal_failed_is_proposed_again_without_another_fetch",
    ),
    by_test("doubts-are-not-ended", doubts_are_not_ended, f"{KEEPER}::test_a_proposal_in_doubt_outlives_its_joiner"),
    Mutant("proposals-outlive-their-state", proposals_outlive_their_state, ALL, CHURN),
    by_test(
        "conflicts-hold-up-others",
        conflicts_hold_up_others,
        f"{KEEPER}::test_of_several_that_conflict_each_is_sent_again_alone",
    ),
    Mutant("no-answer-is-a-refusal", no_answer_is_a_refusal, ALL, CHURN, (WIDE_CHURN,)),
    by_test(
        "dead-joiners-are-committed",
        dead_joiners_are_committed,
        f"{KEEPER}::test_a_dead_joiner_that_the_store_never_heard_of_holds_nothing_up",
    ),
    by_test(
        "full-followers-stay",
        full_followers_stay,
        "tests/sim/test_full_disks.py::test_a_leader_without_room_hands_over_to_one_that_has_it",
    ),
    by_test(
        "waiters-are-not-told-of-too-few",
        waiters_are_not_told_of_too_few,
        "tests/unit/partition/test_role.py::test_whoever_waits_is_told_when_too_few_are_left_in_sync",
    ),
)
