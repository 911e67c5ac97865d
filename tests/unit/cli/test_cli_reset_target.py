"""Where a reset leads: read from the options, and always inside what a partition holds."""

from pathlib import Path

import pytest

from headrace.base.ids import TopicPartition
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.reset_target import Target, choose_target, parse_duration, read_offsets

PLACE = TopicPartition("orders", 0)
NOTHING = (False, False, None, None, None, None, None)


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
        (Target("file", offsets={PLACE: 6}), 6),
        (Target("file", offsets={PLACE: 60}), 20),
    ],
)
def test_where_it_leads(target: Target, offset: int) -> None:
    assert target.offset(PLACE, before=10, start=5, end=20, at_time=8) == offset


def test_a_time_after_the_last_message_is_the_end() -> None:
    assert Target("time", 99).offset(PLACE, before=10, start=5, end=20, at_time=None) == 20


def test_nothing_is_shifted_from_nowhere() -> None:
    with pytest.raises(Failure, match="no commit to shift"):
        Target("shift", 1).offset(PLACE, before=None, start=0, end=20, at_time=None)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("2h30m", 9_000_000), ("7d", 604_800_000), ("PT2H", 7_200_000), ("P1DT1S", 86_401_000)],
)
def test_durations(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "soon", "P", "PT", "5", "-1h", "1w"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(Failure) as failed:
        parse_duration(text)
    assert failed.value.code == ExitCode.USAGE


def test_each_option_alone() -> None:
    assert choose_target(True, *NOTHING[1:]) == Target("earliest")
    assert choose_target(False, True, *NOTHING[2:]) == Target("latest")
    assert choose_target(False, False, 0, *NOTHING[3:]) == Target("offset", 0)
    assert choose_target(False, False, None, "1769860800123", *NOTHING[4:]) == Target("time", 1769860800123)
    assert choose_target(*NOTHING[:5], 0, None) == Target("shift", 0)


@pytest.mark.parametrize("options", [NOTHING, (True, True, *NOTHING[2:]), (False, True, 0, *NOTHING[3:])])
def test_exactly_one_option(options: tuple) -> None:
    with pytest.raises(Failure, match="to go") as failed:
        choose_target(*options)
    assert failed.value.code == ExitCode.USAGE


def test_what_is_no_time() -> None:
    with pytest.raises(Failure, match="no time"):
        choose_target(False, False, None, "soon", *NOTHING[4:])


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(Failure) as failed:
        read_offsets(Path("no such file"))
    assert failed.value.code == ExitCode.NOT_FOUND
