"""What --topic of a reset says."""

import pytest

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.group.plan import parse_chosen


def test_topics_with_and_without_partitions() -> None:
    assert parse_chosen(["a", "b:0,2"]) == {"a": None, "b": {0, 2}}
    assert parse_chosen(["a:0", "a:3", "b:1", "b"]) == {"a": {0, 3}, "b": None}


def test_what_is_no_list_of_partitions() -> None:
    with pytest.raises(Failure, match="orders:x") as failed:
        parse_chosen(["orders:x"])
    assert failed.value.code == ExitCode.USAGE
