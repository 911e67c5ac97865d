"""Where a reset leads: always inside what a partition holds; and what it skips and repeats."""

import pytest

from headrace.admin.reset import Reset, ResetTarget
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition

PLACE = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("target", "offset"),
    [
        (ResetTarget("earliest"), 5),
        (ResetTarget("latest"), 20),
        (ResetTarget("offset", 12), 12),
        (ResetTarget("offset", 2), 5),
        (ResetTarget("offset", 200), 20),
        (ResetTarget("shift", 3), 13),
        (ResetTarget("shift", -3), 7),
        (ResetTarget("shift", -9), 5),
        (ResetTarget("shift", 11), 20),
        (ResetTarget("time", 99), 8),
        (ResetTarget("each", offsets={PLACE: 6}), 6),
        (ResetTarget("each", offsets={PLACE: 60}), 20),
    ],
)
def test_where_it_leads(target: ResetTarget, offset: int) -> None:
    assert target.offset(PLACE, before=10, start=5, end=20, at_time=8) == offset


def test_a_time_after_the_last_message_is_the_end() -> None:
    assert ResetTarget("time", 99).offset(PLACE, before=10, start=5, end=20, at_time=None) == 20


def test_nothing_is_shifted_from_nowhere() -> None:
    with pytest.raises(Refused, match="no commit to shift"):
        ResetTarget("shift", 1).offset(PLACE, before=None, start=0, end=20, at_time=None)


def test_what_is_skipped_and_what_is_read_again() -> None:
    forward, back, begin = Reset(PLACE, 3, 10), Reset(PLACE, 10, 3), Reset(PLACE, None, 3)
    assert [(each.skipped, each.repeated) for each in (forward, back, begin)] == [(7, 0), (0, 7), (0, 0)]
