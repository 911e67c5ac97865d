"""Rules for waking somebody: each is a measure over the history, a threshold, and how long it must hold.

The same rules as PromQL are the file deploy/prometheus/headrace.rules.yml, which `rules_file` writes from here, so that it
does not matter who evaluates them. A rule measures several things at once (topics, brokers, groups), each by its labels.
What could not be measured is left out: it does not count as good.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import linear_regression
from typing import NamedTuple

from headrace.base.units import HOUR, MINUTE, seconds_text
from headrace.gateway.monitor.history import History, Point, Series
from headrace.gateway.monitor.page import Labels
from headrace.gateway.monitor.sight import ANSWERS, LAG, LEADERLESS, LEADERS, UP

POINTS_MIN = 3
LAG_WORTH_A_LOOK = 1000
UNCLEAN = "headrace_unclean_elections_total"
Measures = Mapping[Labels, float]


class Rule(NamedTuple):
    name: str
    severity: str
    measure: Callable[[History, float, float], Measures]
    """(history, now, window in seconds) → by labels."""
    threshold: float
    clears_at: float
    """The measure at which a firing alert clears: a value that trembles at the threshold is one alert."""
    for_seconds: float
    keep_seconds: float
    """How long it must be back there before the alert is cleared."""
    window_seconds: float
    promql: str
    summary: str
    """`{value}` and labels are filled in."""
    fix: str
    fires_above: bool = True
    value_text: Callable[[float], str] = "{:,.0f}".format

    def exceeds(self, value: float) -> bool:
        return value > self.threshold if self.fires_above else value < self.threshold

    def is_back(self, value: float) -> bool:
        return value <= self.clears_at if self.fires_above else value >= self.clears_at

    def say(self, labels: Labels, value: float) -> str:
        return self.summary.format(value=self.value_text(value), **dict(labels))


def slope(points: Sequence[Point]) -> float | None:
    """Growth a second over these points; None when they are too few to say."""
    if len(points) < POINTS_MIN or points[-1].at <= points[0].at:
        return None
    return linear_regression([at for at, _ in points], [value for _, value in points]).slope


def _by_topic(name: str) -> Callable[[History, float, float], Measures]:
    return lambda history, now, window: {labels: value for labels, value in history.latest(name).items() if labels}


def _increase(history: History, now: float, window: float) -> Measures:
    """The increase over the window: the sum of the rates seen, each times its seconds."""
    if () not in history.latest(UNCLEAN):
        return {}
    points = history.points(Series(UNCLEAN), now - window)
    return {(): sum(point.value * (point.at - before.at) for before, point in pairwise(points))}


def _leaderless(history: History, now: float, window: float) -> Measures:
    """Each broker counts all of the cluster; the one that knows of most is the latest to know.

    When all are silent, and the cluster does not answer either, nothing that was led has a leader that answers. Pages alone
    say nothing of that: they may be slow, or their port closed.
    """
    counts = history.latest(LEADERLESS)
    if counts:
        return {(): max(counts.values())}
    led = history.points(Series(LEADERS), now - window)
    answers = (*history.latest(UP).values(), *history.latest(ANSWERS).values())
    is_silent = bool(history.latest(UP)) and not any(answers)
    return {(): max(1.0, led[-1].value)} if is_silent and led else {}


def _seconds_to_full(history: History, now: float, window: float) -> Measures:
    reserves = history.latest("headrace_disk_reserve_bytes")
    left: dict[Labels, float] = {}
    for labels, points in history.tracks("headrace_disk_free_bytes", now - window):
        falling = slope(points)
        if falling is not None:
            room = max(0.0, points[-1].value - reserves.get(labels, 0.0))
            left[labels] = room / max(-falling, 1.0)
    return left


def _lag_growth(history: History, now: float, window: float) -> Measures:
    growth: dict[Labels, float] = {}
    for labels, points in history.tracks(LAG, now - window):
        if len(labels) == 1:
            rising = slope(points) if points[-1].value > LAG_WORTH_A_LOOK else 0.0
            if rising is not None:
                growth[labels] = rising
    return growth


REPLICATION_LAG = Rule(
    name="HeadraceReplicationLag",
    severity="warning",
    measure=_by_topic("headrace_topic_replica_lag_seconds"),
    threshold=10,
    clears_at=2,
    for_seconds=30,
    keep_seconds=30,
    window_seconds=0,
    promql="max by (topic) (headrace_topic_replica_lag_seconds) > {threshold}",
    summary="a follower of {topic} has been behind its leader for {value}",
    fix="look at CPU, disk and network of the brokers that follow; `headrace cluster status` names the replicas",
    value_text=seconds_text,
)
UNDER_REPLICATED = Rule(
    name="HeadraceUnderReplicated",
    severity="warning",
    measure=_by_topic("headrace_topic_under_replicated"),
    threshold=0,
    clears_at=0,
    for_seconds=MINUTE,
    keep_seconds=15,
    window_seconds=0,
    promql="sum by (topic) (headrace_topic_under_replicated) > {threshold}",
    summary="{topic} has {value} partitions without all their in-sync replicas",
    fix="start the brokers that are gone, or move their replicas: `headrace cluster status`, `headrace cluster drain`",
)
UNCLEAN_ELECTION = Rule(
    name="HeadraceUncleanElection",
    severity="critical",
    measure=_increase,
    threshold=0,
    clears_at=0,
    for_seconds=0,
    keep_seconds=0,
    window_seconds=15 * MINUTE,
    # Prometheus interpolates an increase, so that one may show as a little less.
    promql="sum(increase(headrace_unclean_elections_total[{window}])) > {threshold}",
    summary="{value} leaders were elected that may lack acknowledged records",
    fix="find out which records are gone; unclean.leader.election.enable=false prefers waiting to losing",
)
NO_LEADER = Rule(
    name="HeadraceNoLeader",
    severity="critical",
    measure=_leaderless,
    threshold=0,
    clears_at=0,
    for_seconds=10,
    keep_seconds=5,
    # How long it is known what was led, when nobody is left to say so.
    window_seconds=24 * HOUR,
    promql=(
        "max(headrace_leaderless_partitions) > {threshold}"
        " or sum(last_over_time(headrace_topic_leaders[{window}])) > {threshold}"
        " and max(headrace_broker_up) == 0 and max(headrace_cluster_answers) == 0"
    ),
    summary="{value} partitions have no leader: nobody can write or read them",
    fix="start the brokers that hold them: `headrace cluster status` names them, once any broker runs",
)
DISK_FILLING = Rule(
    name="HeadraceDiskFilling",
    severity="warning",
    measure=_seconds_to_full,
    threshold=24 * HOUR,
    clears_at=36 * HOUR,
    for_seconds=5 * MINUTE,
    keep_seconds=5 * MINUTE,
    window_seconds=30 * MINUTE,
    promql=(
        "clamp_min(headrace_disk_free_bytes - headrace_disk_reserve_bytes, 0)"
        " / clamp_min(-deriv(headrace_disk_free_bytes[{window}]), 1) < {threshold}"
    ),
    summary="the disk of broker {broker} refuses writes in {value}, if it goes on filling as it does",
    fix="lower retention.ms or retention.bytes of large topics, add disk, or move partitions away",
    fires_above=False,
    value_text=seconds_text,
)
LAG_GROWING = Rule(
    name="HeadraceLagGrowing",
    severity="warning",
    measure=_lag_growth,
    threshold=1,
    clears_at=0,
    for_seconds=2 * MINUTE,
    keep_seconds=MINUTE,
    window_seconds=5 * MINUTE,
    promql=(
        "sum by (group) (deriv(headrace_group_lag[{window}])) > {threshold}"
        f" and sum by (group) (headrace_group_lag) > {LAG_WORTH_A_LOOK}"
    ),
    summary="group {group} falls behind by {value} records a second",
    fix="look whether its members run and keep up: `headrace group describe`; add members, up to one for each partition",
)
RULES = (REPLICATION_LAG, UNDER_REPLICATED, UNCLEAN_ELECTION, NO_LEADER, DISK_FILLING, LAG_GROWING)
ADJUSTABLE = ("threshold", "clears_at", "for_seconds", "keep_seconds", "window_seconds")


def adjusted(changes: Mapping[str, Mapping[str, float]]) -> tuple[Rule, ...]:
    """The rules with thresholds of one's own: `{"HeadraceNoLeader": {"for_seconds": 60}}`."""
    known = {rule.name for rule in RULES}
    for name, fields in changes.items():
        if name not in known:
            raise ValueError(f"there is no alert {name}; there are {', '.join(sorted(known))}")
        if not fields.keys() <= set(ADJUSTABLE):
            raise ValueError(f"of {name} can be changed: {', '.join(ADJUSTABLE)}")
    return tuple(_with(rule, changes.get(rule.name, {})) for rule in RULES)


def _with(rule: Rule, fields: Mapping[str, float]) -> Rule:
    if "threshold" in fields and "clears_at" not in fields:
        # The gap between the two was meant for the old threshold.
        fields = {**fields, "clears_at": fields["threshold"]}
    return rule._replace(**fields)  # type: ignore[arg-type]  # only fields that are numbers
