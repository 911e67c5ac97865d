"""Leaders whose lease runs out unseen, each as the shortest story: nothing is answered after it."""

import pytest

from sim.lease_stories import LEASE_STORIES
from sim.story import Story


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("story", LEASE_STORIES, ids=lambda story: story.plan.scenario)
def test_nothing_is_answered_after_the_lease(story: Story, seed: int) -> None:
    assert story.play(story.plan._replace(seed=seed)).breach is None
