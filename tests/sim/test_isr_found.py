"""Changes of in-sync sets and of leaders under fault, each as the shortest story that shows what can go wrong with it."""

from collections.abc import Callable

import pytest

from sim import handover_stories, isr_stories
from sim.handover_stories import HANDOVER_STORIES
from sim.isr_stories import ISR_STORIES
from sim.isr_teeth import (
    a_loaded_image_is_all_new,
    any_conflict_ends_a_proposal,
    doubtful_proposals_are_given_up,
    nobody_looks_after_a_proposal_was_given_up,
    stalled_followers_stay,
)
from sim.mutants.replication import tails_are_not_proven_first, tails_count_as_the_leaders
from sim.story import Story

SEEDS = 10


@pytest.mark.parametrize("story", (*ISR_STORIES, *HANDOVER_STORIES), ids=lambda story: story.plan.scenario)
def test_acks_go_on_and_stay_true(story: Story) -> None:
    assert story.play(story.plan).breach is None


def tails_are_taken_for_the_leaders(patch: pytest.MonkeyPatch) -> None:
    tails_count_as_the_leaders(patch)
    tails_are_not_proven_first(patch)


@pytest.mark.parametrize(
    ("breaks", "story", "invariant"),
    [
        (stalled_followers_stay, isr_stories.CUT_OFF, "goes-on"),
        (nobody_looks_after_a_proposal_was_given_up, isr_stories.NO_ANSWER, "goes-on"),
        (doubtful_proposals_are_given_up, isr_stories.LATE_JOINER, "in-sync"),
        (any_conflict_ends_a_proposal, isr_stories.LATE_NEWS, "synced-ack"),
        (a_loaded_image_is_all_new, isr_stories.LOADED, "in-sync"),
        (tails_are_taken_for_the_leaders, handover_stories.UNSYNCED, "identical"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_without_the_rule_the_story_ends_in_a_breach(
    breaks: Callable[[pytest.MonkeyPatch], None], story: Story, invariant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with every timing."""
    breaks(monkeypatch)
    outcomes = (story.play(story.plan._replace(seed=seed)) for seed in range(1, SEEDS + 1))
    breach = next((outcome.breach for outcome in outcomes if outcome.breach is not None), None)
    assert breach is not None
    assert breach.invariant == invariant
