"""Rules of in-sync sets, watermarks and elections, taken away one by one."""

from pytest import MonkeyPatch

from headrace.broker.handlers.fetch import ActiveFetch
from headrace.broker.replication.copier import ReplicaCopier
from headrace.broker.replication.fetcher import Fetcher
from headrace.broker.replication.isr_keeper import IsrKeeper
from headrace.cluster import elect, isr, reassign, rejoin, rewrite
from headrace.partition.appends import Appends
from headrace.partition.follow_session import FollowSession
from headrace.partition.following import Following
from headrace.partition.in_sync import InSync
from headrace.partition.role import Role
from headrace.replica import follower
from headrace.replica.leader import LeaderReplica
from headrace.replica.proposal import Underway
from sim import handover_stories as handovers
from sim import isr_stories as stories
from sim.mutant import Mutant, edit
from sim.mutants.plans import CHURN, CUTS, DARK, HANGS, LONE, MIXED, SAFETY, STORE
from sim.mutants.plays import by_story, by_test

ALL = (*SAFETY, *HANGS)
LACKING = ("in-sync", "synced-ack")
"""Somebody counts as in sync who lacks what was acknowledged."""


def one_is_enough_to_commit(patch: MonkeyPatch) -> None:
    """Nothing is committed while fewer than min.insync.replicas are in sync."""
    edit(patch, LeaderReplica.advance, ("if not self.has_min_isr:", "if False:"))


def proposed_members_count_for_the_minimum(patch: MonkeyPatch) -> None:
    """Only members that the store has committed count for min.insync.replicas, not those that are proposed."""
    larger = "len({*self.isr, *(self.underway.proposal.isr if self.underway.proposal else ())})"
    edit(patch, LeaderReplica.has_min_isr.fget, ("len(self.isr)", larger))  # type: ignore[attr-defined]


def appends_without_min_isr(patch: MonkeyPatch) -> None:
    """A write with acks=all is refused while fewer than min.insync.replicas are in sync."""
    edit(patch, Appends.append, ("if acks == -1 and not leader.has_min_isr:", "if False:"))


def joiners_lack_the_watermark(patch: MonkeyPatch) -> None:
    """A replica joins the in-sync set only with everything below the high watermark."""
    edit(patch, LeaderReplica.propose_joiner, ("max(self.high_watermark, self.epoch_start_offset)", "0"))


def conflicts_end_proposals(patch: MonkeyPatch) -> None:
    """A conflict on the partition's own key does not end a proposal: the newer state that caused it will."""
    edit(patch, IsrKeeper._on_conflict, ("if own not in conflict.keys:", "if True:"))


def proposals_in_doubt_are_dropped(patch: MonkeyPatch) -> None:
    """A proposal whose outcome is not known counts until a state or a refusal shows it."""
    edit(patch, Underway.withdraw, ("if self._is_sent:", "if False:"))


def dropped_proposals_move_nothing(patch: MonkeyPatch) -> None:
    """When a proposal is given up, the watermark is looked at again: nothing else may ever do so."""
    edit(patch, InSync.withdraw_proposal, ("self._role.advance()", "pass"))
    edit(patch, InSync.on_proposal_refused, ("self._role.advance()", "pass"))


def registrations_are_not_compared(patch: MonkeyPatch) -> None:
    """A joiner is committed only under the registration with which it fetched."""
    edit(
        patch, isr.alter_isr, ("expect[broker_key(broker_id)] = _registered_revision(image, broker_id, epoch)", "pass")
    )
    edit(patch, IsrKeeper._check_alive, ("if self._view.live.get(broker_id) != epoch:", "if False:"))


def tails_count_as_the_leaders(patch: MonkeyPatch) -> None:
    """A follower's watermark covers only what a fetch has shown to be its leader's."""
    edit(patch, Following.on_leader_word, ("min(high_watermark, matching_end, ", "min(high_watermark, "))


def partitions_are_not_compared(patch: MonkeyPatch) -> None:
    """A change of the in-sync set is committed only if the partition is as its leader knew it."""
    edit(patch, isr.alter_isr, ("expect = {key: expected.revision}", "expect = {}"))


def elections_are_not_compared(patch: MonkeyPatch) -> None:
    """An election is committed only if the partition is as the controller knew it."""
    edit(patch, rewrite._commit, ("expect[key] = topic.partitions[index].revision", "pass"))


def old_lives_count(patch: MonkeyPatch) -> None:
    """A fetch of an earlier life of a follower is ignored."""
    edit(patch, LeaderReplica.on_fetch, (" or broker_epoch < follower.broker_epoch", ""))


def fetches_of_other_epochs_count(patch: MonkeyPatch) -> None:
    """A fetch counts only in the epoch in which its leader leads."""
    edit(
        patch,
        ActiveFetch._check_may_read,
        ("partition.check_leader(entry.current_leader_epoch)", "partition.check_leader()"),
    )


def leaders_from_outside(patch: MonkeyPatch) -> None:
    """A leader is chosen from the in-sync replicas."""
    edit(patch, elect.choose_leader, ("each in state.isr and each in live", "each in live"))
    patch.setattr(elect, "check_sound", lambda state: None)
    patch.setattr(rewrite, "check_sound", lambda state: None)


def nobody_is_eligible(patch: MonkeyPatch) -> None:
    """Who leaves the in-sync set while too few are left stays eligible to lead."""
    edit(patch, elect.with_isr, ("if len(members) < min_isr:", "if False:"))


def eligible_for_ever(patch: MonkeyPatch) -> None:
    """Once enough are in sync again, nobody outside may lead."""
    edit(patch, elect.with_isr, ("if len(members) < min_isr:", "if True:"))


def commits_while_others_may_lead(patch: MonkeyPatch) -> None:
    """Nothing is committed while somebody outside the in-sync set may still lead, whatever min.insync.replicas says."""
    edit(patch, elect.min_isr_to_commit, (" if state.elr else least", " if False else least"))


def waiters_outlive_their_leader(patch: MonkeyPatch) -> None:
    """Who waits for an ack is told when its leader no longer leads in that epoch."""
    edit(patch, Role.begin_term, ("self.ready.tell(self.waits.lose_all(ErrorCode.NOT_LEADER_OR_FOLLOWER))", "pass"))


def restarted_leaders_go_on(patch: MonkeyPatch) -> None:
    """A broker that restarts stands down: its new life never leads in an epoch of the old one."""
    edit(
        patch,
        rejoin.stood_down,
        ("if state.leader != broker_id:", "if state.leader != broker_id or broker_id in state.isr:"),
    )


def laggards_stay(patch: MonkeyPatch) -> None:
    """A follower that fell behind leaves the in-sync set."""
    patch.setattr(LeaderReplica, "propose_without_laggards", lambda self, *rest: None)


def waiting_joiners_are_forgotten(patch: MonkeyPatch) -> None:
    """A replica whose proposal came to nothing is proposed again."""
    patch.setattr(LeaderReplica, "propose_waiting", lambda self, live, now: None)


def cuts_go_too_far(patch: MonkeyPatch) -> None:
    """A follower cuts only what its leader does not have."""
    edit(patch, follower.cut_for, ("return min(own_end, leader_end)", "return 0"))


def cuts_are_too_short(patch: MonkeyPatch) -> None:
    """A follower cuts to the last point that both histories have."""
    edit(patch, follower.cut_for, ("return min(own_end, leader_end)", "return max(own_end, leader_end)"))


def cuts_of_other_epochs(patch: MonkeyPatch) -> None:
    """A cut that had to wait for its recovery point is done only in the epoch in which it was decided."""
    edit(patch, ReplicaCopier._cut, ("if _follows_on(partition, position):", "if True:"))


def tails_are_not_proven_first(patch: MonkeyPatch) -> None:
    """A follower has its own tail on disk before it fetches, and names the end of all that it has."""

    async def at_once(self: Fetcher) -> None:
        self._unproven = {}

    patch.setattr(Fetcher, "_until_proven", at_once)
    edit(patch, FollowSession._position, (" or not partition.is_proven", ""))


def the_leaders_word_counts_beyond_the_log(patch: MonkeyPatch) -> None:
    """A follower's watermark never passes what it has itself."""
    edit(patch, Following.on_leader_word, ("min(high_watermark, matching_end, role.log.end_offset)", "high_watermark"))


def gone_replicas_keep_their_epoch(patch: MonkeyPatch) -> None:
    """The epoch rises when a replica is taken from a partition, so that it cannot be counted again."""
    edit(patch, reassign._keep, ("kept._replace(leader_epoch=kept.leader_epoch + 1)", "kept"))


def moves_end_early(patch: MonkeyPatch) -> None:
    """A move is done only when all its new replicas are in sync."""
    edit(
        patch,
        reassign.finish,
        (" or not set(after) <= set(state.isr)", " or not set(after) & set(state.isr)"),
    )


def moves_drop_in_sync_replicas(patch: MonkeyPatch) -> None:
    """A move that would leave too few in-sync replicas is refused."""
    edit(patch, reassign._turn, ("if len(after.isr) < min(", "if False and len(after.isr) < min("))


REPLICATION = (
    Mutant("one-is-enough-to-commit", one_is_enough_to_commit, ALL, LONE, (CHURN,)),
    Mutant(
        "appends-without-min-isr",
        appends_without_min_isr,
        ALL,
        LONE,
        (CHURN,),
        beside=(
            one_is_enough_to_commit,
            "it only refuses early: what is appended is not committed; taken away with that",
        ),
    ),
    Mutant("joiners-lack-the-watermark", joiners_lack_the_watermark, ALL, CHURN, (STORE,)),
    by_story("conflicts-end-proposals", conflicts_end_proposals, LACKING, stories.LATE_NEWS),
    by_story("proposals-in-doubt-are-dropped", proposals_in_doubt_are_dropped, LACKING, stories.LATE_JOINER),
    by_story("dropped-proposals-move-nothing", dropped_proposals_move_nothing, ("goes-on",), stories.OTHER_LIFE),
    by_story("registrations-are-not-compared", registrations_are_not_compared, LACKING, stories.LOST_POWER),
    by_story(
        "tails-count-as-the-leaders",
        tails_count_as_the_leaders,
        ("identical",),
        handovers.UNSYNCED,
        (
            tails_are_not_proven_first,
            "a fetch names the end of a log that is proven, and so shows all of it; taken away with that",
        ),
    ),
    by_story("partitions-are-not-compared", partitions_are_not_compared, (*LACKING, "one-leader"), stories.LATE_LEADER),
    Mutant("elections-are-not-compared", elections_are_not_compared, ALL, CUTS, (CHURN,)),
    by_story("old-lives-count", old_lives_count, LACKING, stories.LAST_LIFE),
    by_story("fetches-of-other-epochs-count", fetches_of_other_epochs_count, LACKING, handovers.LATE_FETCH),
    Mutant("leaders-from-outside", leaders_from_outside, ALL, DARK, (MIXED,)),
    by_story(
        "proposed-members-count-for-the-minimum",
        proposed_members_count_for_the_minimum,
        (*LACKING, "no-ack-lost"),
        stories.ALONE_WITH_A_JOINER,
    ),
    by_story("nobody-is-eligible", nobody_is_eligible, ("goes-on",), stories.ALONE),
    by_story("eligible-for-ever", eligible_for_ever, ("goes-on",), stories.AWAY),
    by_story("commits-while-others-may-lead", commits_while_others_may_lead, LACKING, stories.LOWERED),
    by_story(
        "waiters-outlive-their-leader",
        waiters_outlive_their_leader,
        ("agreed", "no-ack-lost", "synced-ack"),
        handovers.TAIL,
    ),
    Mutant("restarted-leaders-go-on", restarted_leaders_go_on, ALL, DARK, (MIXED,)),
    by_story("laggards-stay", laggards_stay, ("goes-on",), stories.LAST),
    by_story("waiting-joiners-are-forgotten", waiting_joiners_are_forgotten, ("caught-up",), stories.QUIET),
    by_story("cuts-go-too-far", cuts_go_too_far, LACKING, handovers.SUCCESSOR_DIES),
    Mutant("cuts-are-too-short", cuts_are_too_short, ALL, CUTS, (CHURN,)),
    by_story("cuts-of-other-epochs", cuts_of_other_epochs, (*LACKING, "no-ack-lost", "identical"), handovers.BACK),
    by_story(
        "the-leaders-word-counts-beyond-the-log",
        the_leaders_word_counts_beyond_the_log,
        ("identical", "no-bug"),
        stories.STEPS,
    ),
    by_test(
        "gone-replicas-keep-their-epoch",
        gone_replicas_keep_their_epoch,
        "tests/unit/cluster/test_decide.py::test_a_move_that_takes_a_replica_away_fences_it_though_the_leader_stays",
    ),
    by_test(
        "moves-end-early",
        moves_end_early,
        "tests/unit/cluster/test_decide.py::test_a_complete_move_is_finished_and_its_leader_is_among_those_who_stay",
    ),
    by_test(
        "moves-drop-in-sync-replicas",
        moves_drop_in_sync_replicas,
        "tests/unit/cluster/test_reassign.py::test_nothing_in_sync_is_dropped_that_committed_records_may_need",
    ),
)
