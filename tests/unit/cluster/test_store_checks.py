"""The invariants of the metadata store that every adapter states: before a write, after a read."""

import pytest

from headrace.cluster.store import (
    FIRST,
    OPERATIONS_MAX,
    Change,
    Changes,
    Entry,
    Snapshot,
    check_committed,
    check_followed,
    check_loaded,
    check_size,
)


def test_a_commit_is_within_the_limit_and_names_revisions_that_can_be() -> None:
    check_size({str(n): b"" for n in range(OPERATIONS_MAX)}, {"a": 0})
    with pytest.raises(AssertionError, match="at most"):
        check_size({str(n): b"" for n in range(OPERATIONS_MAX + 1)}, {})
    with pytest.raises(AssertionError, match="no revision"):
        check_size({}, {"a": FIRST})


def test_a_commit_comes_after_what_it_was_compared_with() -> None:
    assert check_committed(7, {"a": 7, "b": 0}) == 7
    with pytest.raises(AssertionError):
        check_committed(6, {"a": 7})


def test_no_entry_is_newer_than_the_map() -> None:
    check_loaded(Snapshot(0, {}))
    check_loaded(Snapshot(3, {"a": Entry(b"", 3)}))
    with pytest.raises(AssertionError):
        check_loaded(Snapshot(2, {"a": Entry(b"", 3)}))


@pytest.mark.parametrize("revisions", [(4,), (6, 5), (5, 8)], ids=["seen before", "in no order", "past the end"])
def test_a_watch_goes_on_in_order(revisions: tuple[int, ...]) -> None:
    check_followed(4, Changes(7, (Change("a", b"", 5), Change("b", None, 7))))
    check_followed(4, Changes(5, ()))
    with pytest.raises(AssertionError):
        check_followed(4, Changes(7, tuple(Change("a", b"", each) for each in revisions)))
