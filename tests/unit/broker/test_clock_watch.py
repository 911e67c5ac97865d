from headrace.broker.membership.clock_watch import ClockWatch, Skew
from headrace.cluster.entities import FENCED, Broker

HOUR = 3_600_000
NOW = 1_700_000_000_000


def registered(number: int, epoch: int, at: int) -> dict[int, Broker]:
    return {number: Broker(number, epoch, "host", 9092, registered_at=at)}


def test_a_broker_that_joins_with_another_time_is_noticed_once() -> None:
    watch = ClockWatch(own_id=1)
    for ahead in (HOUR, -HOUR):
        joined = registered(2, epoch=NOW + ahead, at=NOW + ahead)
        assert watch.look(joined, NOW, is_member=True) == [Skew(2, ahead)]
        assert watch.look(joined, NOW + HOUR, is_member=True) == [], "the stamp is old by now"


def test_registrations_that_may_be_old_say_nothing() -> None:
    watch = ClockWatch(own_id=1)
    before_us = registered(2, epoch=5, at=NOW - HOUR)
    assert watch.look(before_us, NOW, is_member=False) == []
    assert watch.look(before_us, NOW, is_member=True) == []
    between_lives = registered(2, epoch=FENCED, at=NOW - HOUR)
    assert watch.look(between_lives, NOW, is_member=True) == []


def test_clocks_that_agree_and_our_own_are_no_news() -> None:
    watch = ClockWatch(own_id=1)
    assert watch.look(registered(2, epoch=5, at=NOW - 900), NOW, is_member=True) == []
    assert watch.look(registered(1, epoch=6, at=NOW + HOUR), NOW, is_member=True) == []
    assert watch.look(registered(3, epoch=7, at=0), NOW, is_member=True) == [], "an older version does not say"
