"""Where a reset leads, as the options say it."""

from pathlib import Path

import pytest

from headrace.admin.reset import ResetTarget
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.group.reset_target import choose_target, read_offsets

NOTHING = (False, False, None, None, None, None, None)


def test_each_option_alone() -> None:
    assert choose_target(True, *NOTHING[1:]) == ResetTarget("earliest")
    assert choose_target(False, True, *NOTHING[2:]) == ResetTarget("latest")
    assert choose_target(False, False, 0, *NOTHING[3:]) == ResetTarget("offset", 0)
    assert choose_target(False, False, None, "1769860800123", *NOTHING[4:]) == ResetTarget("time", 1769860800123)
    assert choose_target(*NOTHING[:5], 0, None) == ResetTarget("shift", 0)


@pytest.mark.parametrize("options", [NOTHING, (True, True, *NOTHING[2:]), (False, True, 0, *NOTHING[3:])])
def test_exactly_one_option(options: tuple) -> None:
    with pytest.raises(Failure, match="to go") as failed:
        choose_target(*options)
    assert failed.value.code == ExitCode.USAGE


def test_what_is_no_duration() -> None:
    with pytest.raises(Failure, match="no duration") as failed:
        choose_target(*NOTHING[:4], "soon", *NOTHING[5:])
    assert failed.value.code == ExitCode.USAGE


def test_what_is_no_time() -> None:
    with pytest.raises(Failure, match="no time"):
        choose_target(False, False, None, "soon", *NOTHING[4:])


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(Failure) as failed:
        read_offsets(Path("no such file"))
    assert failed.value.code == ExitCode.NOT_FOUND
