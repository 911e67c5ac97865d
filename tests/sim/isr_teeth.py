"""Brokers with one rule about in-sync sets taken away, as in `teeth`: what makes an ack true, and what keeps acks going."""

from typing import Any

from pytest import MonkeyPatch

from headrace.broker.membership import metadata
from headrace.broker.replication.isr_keeper import IsrKeeper
from headrace.cluster.image import Image
from headrace.partition.in_sync import InSync
from headrace.replica.leader import LeaderReplica
from headrace.replica.proposal import Underway
from sim.isr_stories import LOADED, SETTING
from sim.mutant import edit
from sim.storm import plan_for
from sim.teeth import Tooth


def settings_end_proposals(patch: MonkeyPatch) -> None:
    """A change of a topic's settings does not end a proposal that is on its way."""

    def careless(self: LeaderReplica, min_isr: int) -> None:
        self._min_isr = min_isr
        self.underway.end()

    patch.setattr(LeaderReplica, "on_min_isr", careless)


def a_loaded_image_is_all_new(patch: MonkeyPatch) -> None:
    """Metadata that are loaded anew end no proposal that is on its way: what did not change is no newer state."""

    async def as_it_came(image: Image, known: Image) -> Image:
        return image

    patch.setattr(metadata, "sharing", as_it_came)


def doubtful_proposals_are_given_up(patch: MonkeyPatch) -> None:
    """A proposal whose outcome is not known counts until a state or a refusal shows it."""
    patch.setattr(Underway, "on_sent", lambda self: None)


def nobody_looks_after_a_proposal_was_given_up(patch: MonkeyPatch) -> None:
    """When a proposal is given up, the watermark is looked at again."""
    doubtful_proposals_are_given_up(patch)
    edit(patch, InSync.withdraw_proposal, ("self._role.advance()", "pass"))
    edit(patch, InSync.on_proposal_refused, ("self._role.advance()", "pass"))


def the_smaller_set_counts(patch: MonkeyPatch) -> None:
    """While a change of the in-sync set is on its way, the larger of the two sets holds the watermark back."""
    advance = LeaderReplica.advance

    def hasty(self: LeaderReplica, own_end: int) -> int:
        proposed, self.underway.proposal = self.underway.proposal, None
        try:
            return advance(self, own_end)
        finally:
            self.underway.proposal = proposed

    patch.setattr(LeaderReplica, "advance", hasty)


def any_conflict_ends_a_proposal(patch: MonkeyPatch) -> None:
    """A conflict on the partition's own key does not end a proposal."""
    patch.setattr(IsrKeeper, "_on_conflict", lambda self, partition, conflict: partition.in_sync.on_proposal_refused())


def joiners_need_only_the_watermark(patch: MonkeyPatch) -> None:
    """A replica joins the in-sync set only with everything of earlier epochs too."""
    propose = LeaderReplica.propose_joiner

    def hasty(self: LeaderReplica, follower_id: int, now: float) -> Any:
        start, self.epoch_start_offset = self.epoch_start_offset, 0
        try:
            return propose(self, follower_id, now)
        finally:
            self.epoch_start_offset = start

    patch.setattr(LeaderReplica, "propose_joiner", hasty)


def stalled_followers_stay(patch: MonkeyPatch) -> None:
    """A follower that stopped fetching leaves the in-sync set."""
    patch.setattr(LeaderReplica, "propose_without_stalled", lambda self, *times: None)


CHURN = plan_for(1, "churn", 3)
UNSAFE = ("synced-ack", "in-sync", "no-ack-lost", "agreed", "watermark")

SEEDS = 40

# Those that a directed story shows are in `test_isr_found`.
ISR_TEETH = (
    Tooth("settings-end-proposals", settings_end_proposals, UNSAFE, SETTING.plan, play=SETTING.play),
    Tooth("loaded-images-are-all-new", a_loaded_image_is_all_new, UNSAFE, LOADED.plan, play=LOADED.play),
    Tooth("the-smaller-set-counts", the_smaller_set_counts, UNSAFE, CHURN),
    Tooth("joiners-need-only-the-watermark", joiners_need_only_the_watermark, UNSAFE, CHURN),
)
