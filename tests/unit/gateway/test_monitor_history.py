"""What the monitor reads and keeps: pages, rates, sums over brokers, and a history with an end."""

import pytest

from headrace.base.exposition import Metric, labels_of, render
from headrace.base.ids import TopicPartition
from headrace.gateway.monitor import page
from headrace.gateway.monitor.counters import Counters
from headrace.gateway.monitor.history import History, Series
from headrace.gateway.monitor.lags import Lags
from headrace.gateway.monitor.sight import LAG, UP, Sight, recorded

BYTES_IN = "headrace_topic_bytes_in_total"
ORDERS = (("topic", "orders"),)


def test_a_page_is_read_as_it_was_written() -> None:
    strange = 'say "hi"\\ \n, {x="y"}'
    samples = [(labels_of(group=strange, partition=3), 1.5), ("", 2)]
    text = render([Metric("wanted", "gauge", "Help with wanted 7", samples), Metric("other", "gauge", "x", [("", 1)])])
    read = page.read_lines(text.splitlines(), {"wanted"})
    assert read == {"wanted": {(("group", strange), ("partition", "3")): 1.5, (): 2.0}}


def test_a_counter_becomes_its_rate() -> None:
    counters = Counters()
    assert not list(counters.rates(1, {BYTES_IN: {ORDERS: 1000.0}}, [BYTES_IN], at=10.0)), "nothing to compare with"
    assert list(counters.rates(1, {BYTES_IN: {ORDERS: 1500.0}}, [BYTES_IN], at=15.0)) == [(BYTES_IN, ORDERS, 100.0)]


def test_a_counter_that_fell_was_set_back() -> None:
    counters = Counters()
    list(counters.rates(1, {BYTES_IN: {ORDERS: 1000.0}}, [BYTES_IN], at=10.0))
    assert list(counters.rates(1, {BYTES_IN: {ORDERS: 200.0}}, [BYTES_IN], at=12.0)) == [(BYTES_IN, ORDERS, 100.0)]


def test_a_topic_that_is_new_on_a_known_broker_began_at_nothing() -> None:
    counters = Counters()
    list(counters.rates(1, {}, [BYTES_IN], at=10.0))
    assert list(counters.rates(1, {BYTES_IN: {ORDERS: 50.0}}, [BYTES_IN], at=20.0)) == [(BYTES_IN, ORDERS, 5.0)]


def test_a_clock_that_stands_still_gives_no_rate() -> None:
    counters = Counters()
    list(counters.rates(1, {BYTES_IN: {ORDERS: 1.0}}, [BYTES_IN], at=10.0))
    assert not list(counters.rates(1, {BYTES_IN: {ORDERS: 2.0}}, [BYTES_IN], at=10.0))


def test_brokers_are_added_up_by_topic_and_for_the_cluster() -> None:
    counters = Counters()
    lag, isr = "headrace_topic_replica_lag_seconds", "headrace_topic_isr_size_min"

    def sight(at: float, count: float) -> Sight:
        first = {BYTES_IN: {ORDERS: count}, lag: {ORDERS: 1.0}, isr: {ORDERS: 3.0}}
        second = {BYTES_IN: {ORDERS: 2 * count}, lag: {ORDERS: 4.0}, isr: {ORDERS: 2.0}}
        return Sight(at, {1: first, 2: second}, frozenset({3}), Lags({"billing": {TopicPartition("orders", 0): 7}}))

    recorded(sight(0.0, 0.0), counters)
    values = recorded(sight(10.0, 100.0), counters)
    assert values[Series(BYTES_IN, ORDERS)] == values[Series(BYTES_IN)] == 30.0
    assert values[Series(BYTES_IN, (("broker", "2"),))] == 20.0
    assert (values[Series(lag, ORDERS)], values[Series(isr, ORDERS)]) == (4.0, 2.0)
    assert [values[Series(UP, (("broker", str(number)),))] for number in (1, 2, 3)] == [1.0, 1.0, 0.0]
    assert values[Series(LAG, (("group", "billing"),))] == 7
    assert values[Series(LAG, (("group", "billing"), ("partition", "0"), ("topic", "orders")))] == 7


def test_points_come_back_in_order_and_not_older_than_asked_for() -> None:
    history = History(seconds_max=100.0, points_max=10)
    for at in range(20):
        history.record(float(at), {Series("a"): at * 2.0})
    assert history.points(Series("a"), since=17.0) == [(17.0, 34.0), (18.0, 36.0), (19.0, 38.0)]
    assert history.latest("a") == {(): 38.0}
    assert history.points(Series("b"), since=0.0) == []


def test_a_history_holds_so_many_points_and_series_and_no_more() -> None:
    history = History(seconds_max=1e9, points_max=10, series_max=5)
    for at in range(1000):
        history.record(float(at), {Series(f"s{number}"): 1.0 for number in range(8)})
        assert len(history.points(Series("s0"), since=0.0)) <= 26
    assert len(history) == 5
    assert len(history.points(Series("s0"), since=0.0)) >= 10
    assert history.latest("s7") == {(): 1.0}, "what is true now is known, though it is not kept"


def test_what_is_gone_is_forgotten_in_time() -> None:
    history = History(seconds_max=10.0, points_max=10)
    history.record(0.0, {Series("gone"): 1.0})
    history.record(5.0, {Series("here"): 1.0})
    assert history.latest("gone") == {}
    assert history.points(Series("gone"), since=0.0) == [(0.0, 1.0)]
    history.record(11.0, {Series("here"): 1.0})
    assert history.points(Series("gone"), since=0.0) == []
    assert len(history) == 1


@pytest.mark.parametrize("line", ["", "# HELP x y", "other 1", 'other{a="b"} 1 '])
def test_what_is_not_wanted_is_passed_over(line: str) -> None:
    assert page.read_lines([line], {"wanted"}) == {}


def test_a_group_that_was_seen_in_part_has_no_sum() -> None:
    """It would look as if the group caught up."""
    there = {TopicPartition("orders", 0): 7}
    seen = recorded(Sight(0.0, {}, lags=Lags({"billing": there, "audit": there}, frozenset({"audit"}))), Counters())
    assert seen[Series(LAG, (("group", "billing"),))] == 7
    assert Series(LAG, (("group", "audit"),)) not in seen
    assert seen[Series(LAG, (("group", "audit"), ("partition", "0"), ("topic", "orders")))] == 7
