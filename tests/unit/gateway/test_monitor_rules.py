"""The alert rules over histories made by hand: each fires, holds on, and clears."""

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from headrace.gateway.monitor.alerts import CLEARED, CLEARED_MAX, FIRING, PENDING, UNMEASURED, Alert, Alerts
from headrace.gateway.monitor.counters import Counters
from headrace.gateway.monitor.history import History, Series
from headrace.gateway.monitor.lags import Lags
from headrace.gateway.monitor.page import labels_of
from headrace.gateway.monitor.rules import (
    DISK_FILLING,
    LAG_GROWING,
    NO_LEADER,
    REPLICATION_LAG,
    RULES,
    UNCLEAN_ELECTION,
    UNDER_REPLICATED,
    Rule,
    adjusted,
)
from headrace.gateway.monitor.rules_file import rules_text
from headrace.gateway.monitor.sight import Sight, recorded

STEP = 5.0
GB = 1e9


class Life:
    """A cluster whose metrics are what a test says, looked at every five seconds."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.alerts = Alerts([rule])
        self.history = History(3600.0, 1000)
        self.now = 0.0
        self.sees_all = True

    def step(self, **values: float) -> list[Alert]:
        """By what the series are of: `orders=3` is a topic's, `cluster=1` has no labels."""
        self.now += STEP
        self.history.record(self.now, {_series(self.rule, name): value for name, value in values.items()})
        measures = self.rule.measure(self.history, self.now, self.rule.window_seconds)
        return self.alerts.evaluate(self.rule, measures, self.now, lambda _: self.sees_all)

    def until(self, state: str, value: Callable[[float], float], of: str, seconds_max: float = 4000.0) -> Alert:
        while self.now < seconds_max:
            for changed in self.step(**{of: value(self.now)}):
                assert changed.state == state
                return changed
        raise AssertionError(f"not {state} in time")


NAMES = {
    REPLICATION_LAG: ("headrace_topic_replica_lag_seconds", "topic"),
    UNDER_REPLICATED: ("headrace_topic_under_replicated", "topic"),
    UNCLEAN_ELECTION: ("headrace_unclean_elections_total", None),
    NO_LEADER: ("headrace_leaderless_partitions", "broker"),
    DISK_FILLING: ("headrace_disk_free_bytes", "broker"),
    LAG_GROWING: ("headrace_group_lag", "group"),
}


def _series(rule: Rule, of: str) -> Series:
    name, label = NAMES[rule]
    return Series(name, labels_of({label: of}) if label else ())


@pytest.mark.parametrize(
    ("rule", "of", "bad", "good", "labels"),
    [
        (REPLICATION_LAG, "orders", lambda at: 11 + at, lambda at: 0.1, {"topic": "orders"}),
        (UNDER_REPLICATED, "orders", lambda at: 2, lambda at: 0, {"topic": "orders"}),
        (UNCLEAN_ELECTION, "cluster", lambda at: 0.2 if at < 20 else 0.0, lambda at: 0.0, {}),
        (NO_LEADER, "1", lambda at: 4, lambda at: 0, {}),
        (DISK_FILLING, "1", lambda at: 100 * GB - at * 2e6, lambda at: 100 * GB, {"broker": "1"}),
        (LAG_GROWING, "billing", lambda at: 5000 + at * 10, lambda at: 900, {"group": "billing"}),
    ],
    ids=lambda value: value.name if isinstance(value, Rule) else "",
)
def test_each_fires_and_clears(
    rule: Rule, of: str, bad: Callable[[float], float], good: Callable[[float], float], labels: dict[str, str]
) -> None:
    life = Life(rule)
    fired = life.until(FIRING, bad, of)
    assert (fired.name, fired.labels, fired.state) == (rule.name, labels, FIRING)
    assert fired.fired_at == life.now >= fired.since + rule.for_seconds
    assert "{" not in fired.summary and fired.fix
    assert life.alerts.all == [fired]
    cleared = life.until(CLEARED, good, of, life.now + 7200)
    assert cleared.cleared_at == life.now
    assert life.alerts.all == [cleared]


def test_a_short_trouble_wakes_nobody() -> None:
    life = Life(UNDER_REPLICATED)
    while life.now < UNDER_REPLICATED.for_seconds:
        assert life.step(orders=1) == []
        assert life.alerts.all[0].state == PENDING
    assert life.step(orders=0) == []
    assert life.alerts.all == []


def test_a_value_that_trembles_at_the_threshold_is_one_alert() -> None:
    life = Life(REPLICATION_LAG)
    life.until(FIRING, lambda at: 20, "orders")
    for turn in range(100):
        assert life.step(orders=9 if turn % 2 else 11) == [], "9 is below the threshold and above where it clears"
    assert life.alerts.all[0].state == FIRING


def test_an_alert_is_cleared_only_when_it_stays_good() -> None:
    life = Life(UNDER_REPLICATED)
    life.until(FIRING, lambda at: 1, "orders")
    for turn in range(50):
        assert life.step(orders=turn % 2) == []
    assert life.alerts.all[0].state == FIRING


def test_topics_are_apart_and_one_that_was_deleted_is_no_alert() -> None:
    life = Life(UNDER_REPLICATED)
    while not (fired := life.step(orders=1, bills=2, well=0)):
        pass
    assert sorted(alert.labels["topic"] for alert in fired) == ["bills", "orders"]
    while not (cleared := life.step(bills=1)):
        pass
    assert [alert.labels["topic"] for alert in cleared] == ["orders"]


@pytest.mark.parametrize(
    ("rule", "of", "bad", "good"),
    [
        (DISK_FILLING, "1", lambda at: 100 * GB - at * 2e6, lambda at: 100 * GB),
        (LAG_GROWING, "billing", lambda at: 5000 + at * 10, lambda at: 900),
        (UNDER_REPLICATED, "orders", lambda at: 2, lambda at: 0),
        (UNCLEAN_ELECTION, "cluster", lambda at: 0.2 if at < 20 else 0.0, lambda at: 0.0),
        (NO_LEADER, "1", lambda at: 4, lambda at: 0),
    ],
    ids=lambda value: value.name if isinstance(value, Rule) else "",
)
def test_what_cannot_be_measured_stays_and_says_so(
    rule: Rule, of: str, bad: Callable[[float], float], good: Callable[[float], float]
) -> None:
    """A broker that died of its full disk has not got well."""
    life = Life(rule)
    fired = life.until(FIRING, bad, of)
    life.sees_all = False
    for _ in range(1000):
        assert life.step() == []
    (held,) = life.alerts.all
    assert (held.state, held.value, held.is_measured) == (FIRING, fired.value, False)
    assert held.summary == fired.summary + UNMEASURED
    cleared = life.until(CLEARED, good, of, life.now + 7200)
    assert cleared.is_measured and UNMEASURED not in cleared.summary


def test_what_was_about_to_fire_waits_until_it_can_be_measured() -> None:
    life = Life(UNDER_REPLICATED)
    life.step(orders=1)
    life.sees_all = False
    for _ in range(100):
        assert life.step() == []
    assert [alert.state for alert in life.alerts.all] == [PENDING]


def test_nothing_has_a_leader_when_no_broker_answers() -> None:
    rule, history, alerts = NO_LEADER, History(3600.0, 1000), Alerts([NO_LEADER])
    up, led = Series("headrace_broker_up", labels_of({"broker": 1})), Series("headrace_topic_leaders")
    leaderless = Series("headrace_leaderless_partitions", labels_of({"broker": 1}))

    def look(at: float, **seen: dict[Series, float]) -> list[str]:
        history.record(at, seen["seen"])
        measures = rule.measure(history, at, rule.window_seconds)
        return [alert.summary for alert in alerts.evaluate(rule, measures, at, lambda _: False)]

    assert look(0, seen={}) == look(60, seen={}) == [], "a gateway that has just started knows of nobody"
    assert look(70, seen={up: 1, led: 12, leaderless: 0}) == []
    assert look(80, seen={up: 0}) == []
    assert look(95, seen={up: 0})[0].startswith("12 partitions have no leader")
    # Longer than what was known is kept.
    for at in range(100, 10_000, 100):
        assert look(at, seen={up: 0}) == []
    assert [alert.state for alert in alerts.all] == [FIRING]
    assert look(10_000, seen={up: 1, led: 12, leaderless: 0}) == []
    assert len(look(10_010, seen={up: 1, led: 12, leaderless: 0})) == 1


def test_pages_that_stay_away_are_no_lost_leaders_while_the_cluster_answers() -> None:
    """A slow page or a closed metrics port, and Kafka works."""
    history, alerts, counters = History(3600.0, 1000), Alerts([NO_LEADER]), Counters()
    page = {"headrace_topic_leaders": {labels_of({"topic": "t"}): 12.0}, "headrace_leaderless_partitions": {(): 0.0}}

    def look(sight: Sight) -> list[str]:
        history.record(sight.at, recorded(sight, counters))
        measures = NO_LEADER.measure(history, sight.at, NO_LEADER.window_seconds)
        return [alert.state for alert in alerts.evaluate(NO_LEADER, measures, sight.at, sight.is_gone)]

    assert look(Sight(0.0, {1: page}, is_answered=True)) == []
    for at in range(10, 1000, 10):
        assert look(Sight(at, {}, frozenset({1}), is_answered=True)) == []
    assert alerts.all == []
    assert look(Sight(1000.0, {}, frozenset({1}), is_answered=False)) == []
    assert look(Sight(1010.0, {}, frozenset({1}), is_answered=False)) == [FIRING]


def test_who_is_gone_and_who_is_only_silent() -> None:
    lags = Lags({"billing": {}}, is_complete=True)
    broker, topic, group = (labels_of({name: value}) for name, value in (("broker", 2), ("topic", "t"), ("group", "g")))
    everybody = Sight(0.0, {1: {}}, frozenset(), lags)
    assert all(everybody.is_gone(each) for each in (broker, topic, group))
    assert not everybody.is_gone(labels_of({"broker": 1})) and not everybody.is_gone(labels_of({"group": "billing"}))
    one_silent = Sight(0.0, {1: {}}, frozenset({2}), lags._replace(is_complete=False))
    assert not any(one_silent.is_gone(each) for each in (broker, topic, group, ()))
    assert not any(Sight(0.0, {}).is_gone(each) for each in (topic, group, ()))


def test_a_full_disk_fires_though_it_fills_no_more() -> None:
    life = Life(DISK_FILLING)
    assert life.until(FIRING, lambda at: 0.0, "1").value == 0.0


def test_a_disk_says_how_long_it_has() -> None:
    life = Life(DISK_FILLING)
    fired = life.until(FIRING, lambda at: 36 * GB - at * 1e6, "1")
    assert fired.value == pytest.approx(36_000 - fired.fired_at, rel=0.01)
    assert "in 9.9" in fired.summary and "hours" in fired.summary


def test_a_small_lag_that_grows_is_nobodys_business() -> None:
    life = Life(LAG_GROWING)
    for _ in range(200):
        assert life.step(billing=life.now / 2) == []


def test_a_large_lag_that_shrinks_is_no_alert() -> None:
    life = Life(LAG_GROWING)
    for _ in range(200):
        assert life.step(billing=1e6 - life.now * 100) == []


def test_of_cleared_alerts_the_last_are_kept() -> None:
    alerts = Alerts([NO_LEADER._replace(for_seconds=0, keep_seconds=0)])
    (rule,) = alerts.rules
    times = count(1.0)
    for _ in range(CLEARED_MAX + 20):
        assert alerts.evaluate(rule, {(): 1.0}, next(times), lambda _: True)
        assert alerts.evaluate(rule, {(): 0.0}, next(times), lambda _: True)
    assert len(alerts.all) == CLEARED_MAX
    assert alerts.all[0].cleared_at == max(alert.cleared_at or 0 for alert in alerts.all)


def test_thresholds_of_ones_own() -> None:
    rules = {rule.name: rule for rule in adjusted({"HeadraceNoLeader": {"threshold": 5, "for_seconds": 1}})}
    assert (rules["HeadraceNoLeader"].threshold, rules["HeadraceNoLeader"].clears_at) == (5, 5)
    assert rules["HeadraceLagGrowing"] == LAG_GROWING
    with pytest.raises(ValueError, match="there is no alert NoLeader; there are Headrace"):
        adjusted({"NoLeader": {}})
    with pytest.raises(ValueError, match="can be changed: threshold"):
        adjusted({"HeadraceNoLeader": {"measure": 1}})


def test_the_prometheus_file_has_the_same_rules() -> None:
    text = (Path(__file__).parents[3] / "deploy" / "prometheus" / "headrace.rules.yml").read_text()
    assert text == rules_text(), "write it again: python -m headrace.gateway.monitor.rules_file"
    assert re.findall(r"alert: (\w+)", text) == [rule.name for rule in RULES]
    for rule in RULES:
        (expr,) = re.findall(rf"alert: {rule.name}\n +expr: (.*)\n", text)
        assert re.search(rf"[<>] {rule.threshold:g}\b", expr), expr
        assert (">" in expr) == rule.fires_above
