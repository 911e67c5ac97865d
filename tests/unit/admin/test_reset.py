"""Where a reset leads: always inside what a partition holds; and what it skips and repeats."""

import pytest

from headrace.admin.reset import Reset, Target
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition

PLACE = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("target", "offset"),
    [
        (Target("earliest"), 5),
        (Target("latest"), 20),
        (Target("offset", 12), 12),
        (Target("offset", 2), 5),
        (Target("offset", 200), 20),
        (Target("shift", 3), 13),
        (Target("shift", -3), 7),
        (Target("shift", -9), 5),
        (Target("shift", 11), 20),
        (Target("time", 99), 8),
        (Target("each", offsets={PLACE: 6}), 6),
        (Target("each", offsets={PLACE: 60}), 20),
    ],
)
def test_where_it_leads(target: Target, offset: int) -> None:
    assert target.offset(PLACE, before=10, start=5, end=20, at_time=8) == offset


def test_a_time_after_the_last_message_is_the_end() -> None:
    assert Target("time", 99).offset(PLACE, before=10, start=5, end=20, at_time=None) == 20


def test_nothing_is_shifted_from_nowhere() -> None:
    with pytest.raises(Refused, match="no commit to shift"):
        Target("shift", 1).offset(PLACE, before=None, start=0, end=20, at_time=None)


def test_what_is_skipped_and_what_is_read_again() -> None:
    forward, back, begin = Reset(PLACE, 3, 10), Reset(PLACE, 10, 3), Reset(PLACE, None, 3)
    assert [(each.skipped, each.repeated) for each in (forward, back, begin)] == [(7, 0), (0, 7), (0, 0)]
