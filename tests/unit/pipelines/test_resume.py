"""Where a job goes on, and what it refuses to pass over."""

import pytest

from headrace.base.errors import UserError
from headrace.pipelines.kafka import TopicBounds
from headrace.pipelines.resume import resume

VIEW = TopicBounds("cluster", "orders", "id", start={0: 10, 1: 0}, end={0: 50, 1: 5})


def test_it_goes_on_where_it_was_and_begins_at_the_beginning_elsewhere():
    assert resume(VIEW, {0: 20}, allow_loss=False) == ({0: 20, 1: 0}, 0)
    assert resume(VIEW, {}, allow_loss=False) == ({0: 10, 1: 0}, 0)


def test_what_retention_took_is_named_or_counted():
    with pytest.raises(UserError, match="partition 0: 3 to 9"):
        resume(VIEW, {0: 3}, allow_loss=False)
    assert resume(VIEW, {0: 3}, allow_loss=True) == ({0: 10, 1: 0}, 7)


def test_a_topic_that_has_become_shorter_is_another_one():
    with pytest.raises(UserError, match="partition 1 of orders was read up to offset 6, and now ends at 5"):
        resume(VIEW, {1: 6}, allow_loss=True)
