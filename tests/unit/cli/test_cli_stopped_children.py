"""Which brokers of `headrace up` are ended because they stand still."""

import pytest

from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.up.child import ServeChild
from headrace.cli.up.stopped_children import LOOK_SECONDS, StoppedChildren


class Broker(ServeChild):
    @property
    def pid(self) -> int:
        return self.options.id


@pytest.fixture
def brokers() -> list[Broker]:
    return [Broker(ServeOptions(id=number, data="data")) for number in (1, 2)]


def look_again_and_again(
    stopped: StoppedChildren, brokers: list[Broker], since: float, until: float
) -> list[ServeChild]:
    """As the supervisor does; what the last look found."""
    found: list[ServeChild] = []
    for look in range(round((until - since) / LOOK_SECONDS) + 1):
        found = stopped.look(brokers, since + look * LOOK_SECONDS)
    return found


def test_one_that_stands_still_for_longer_than_its_lease_is_found(brokers: list[Broker]) -> None:
    stopped = StoppedChildren(3.0, lambda pid: pid == 2)
    assert look_again_and_again(stopped, brokers, 10.0, 12.5) == []
    assert stopped.look(brokers, 13.0) == [brokers[1]]


def test_while_all_stand_still_nobody_is_ended(brokers: list[Broker]) -> None:
    """Nobody has taken over, so no client would be better off; and all would have to look at their logs."""
    stopped = StoppedChildren(3.0, lambda _: True)
    assert look_again_and_again(stopped, brokers, 10.0, 60.0) == []


def test_those_that_are_woken_a_moment_later_than_the_first_have_not_stood_still_for_long(
    brokers: list[Broker],
) -> None:
    standing = {1, 2}
    stopped = StoppedChildren(3.0, standing.__contains__)
    look_again_and_again(stopped, brokers, 10.0, 60.0)
    standing.remove(1)
    assert look_again_and_again(stopped, brokers, 60.5, 63.0) == []
    assert stopped.look(brokers, 63.5) == [brokers[1]]


def test_our_own_standing_still_counts_for_nobody(brokers: list[Broker]) -> None:
    """We were stopped together with it, and woken before it."""
    stopped = StoppedChildren(3.0, lambda pid: pid == 2)
    look_again_and_again(stopped, brokers, 10.0, 11.0)
    assert look_again_and_again(stopped, brokers, 3600.0, 3602.5) == []
    assert stopped.look(brokers, 3603.0) == [brokers[1]]


@pytest.mark.parametrize("patience_s", [0.2, 1.0, 20.0])
def test_any_patience_comes_to_an_end(brokers: list[Broker], patience_s: float) -> None:
    stopped = StoppedChildren(patience_s, lambda pid: pid == 2)
    assert look_again_and_again(stopped, brokers, 10.0, 10.0 + max(1.0, patience_s)) == [brokers[1]]


def test_one_that_went_on_meanwhile_is_not(brokers: list[Broker]) -> None:
    standing = {2}
    stopped = StoppedChildren(3.0, standing.__contains__)
    look_again_and_again(stopped, brokers, 10.0, 12.0)
    standing.clear()
    stopped.look(brokers, 12.5)
    standing.add(2)
    assert look_again_and_again(stopped, brokers, 13.0, 15.5) == []


def test_no_patience_means_never(brokers: list[Broker]) -> None:
    stopped = StoppedChildren(0, lambda _: True)
    assert stopped.look(brokers, 10.0) == stopped.look(brokers, 99.0) == []


def test_one_that_another_ends_first_was_seen_to_stand_still(brokers: list[Broker]) -> None:
    """Its end is no death of its own: other brokers end one that stands still in the midst of a write to their store."""
    standing = {2}
    stopped = StoppedChildren(3.0, standing.__contains__)
    stopped.look(brokers, 10.0)
    assert (stopped.was_seen(brokers[0]), stopped.was_seen(brokers[1])) == (False, True)
    standing.clear()
    stopped.look(brokers, 10.5)
    assert not stopped.was_seen(brokers[1])
