"""The state of each alert: nothing → pending (the measure is bad) → firing (it stayed so) → cleared (it stayed good).

    value exceeds ─▶ pending ──for_seconds──▶ firing ──back for keep_seconds──▶ cleared
                        └─back─▶ forgotten        └─exceeds again─▶ firing on

Evaluated with whatever was measured last. What is gone (a topic that was deleted) is back; what is there and could not be
measured stays as it is, and says so: a broker that died of its full disk has not got well. Tells of firing and cleared once
each; it sends nothing itself.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from headrace.gateway.monitor.page import Labels
from headrace.gateway.monitor.rules import Measures, Rule

CLEARED_MAX = 100
ALERTS_MAX = 1000
PENDING, FIRING, CLEARED = "pending", "firing", "cleared"
UNMEASURED = " (as last measured: now it cannot be)"


@dataclass(frozen=True, slots=True)
class Alert:
    name: str
    severity: str
    state: str
    labels: Mapping[str, str]
    value: float
    summary: str
    fix: str
    since: float
    """Unix time, when the measure went bad."""
    fired_at: float | None = None
    cleared_at: float | None = None
    is_measured: bool = True


class _Watch:
    """One thing that one rule looks at, while it is not well."""

    __slots__ = ("alert", "back_since")

    def __init__(self, alert: Alert) -> None:
        self.alert = alert
        self.back_since: float | None = None


class Alerts:
    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._watched: dict[tuple[str, Labels], _Watch] = {}
        self._cleared: list[Alert] = []

    @property
    def all(self) -> list[Alert]:
        """All alerts: firing ones first, then pending ones, then the last that were cleared, latest first."""
        now = [watch.alert for watch in self._watched.values()]
        return [*(a for a in now if a.state == FIRING), *(a for a in now if a.state == PENDING), *self._cleared[::-1]]

    def evaluate(self, rule: Rule, measures: Measures, now: float, is_gone: Callable[[Labels], bool]) -> list[Alert]:
        """The alerts of this rule that changed: they fire from now on, or are cleared."""
        changed = []
        known = [labels for name, labels in self._watched if name == rule.name]
        for labels in dict.fromkeys([*known, *measures]):
            if labels not in measures and not is_gone(labels):
                self._hold(self._watched[rule.name, labels])
                continue
            alert = self._step(rule, labels, measures.get(labels, rule.clears_at), now)
            if alert is not None:
                changed.append(alert)
        return changed

    def _hold(self, watch: _Watch) -> None:
        watch.back_since = None
        if watch.alert.is_measured:
            watch.alert = replace(watch.alert, is_measured=False, summary=watch.alert.summary + UNMEASURED)

    def _step(self, rule: Rule, labels: Labels, value: float, now: float) -> Alert | None:
        watch = self._watched.get((rule.name, labels))
        if watch is None:
            if not rule.exceeds(value) or len(self._watched) >= ALERTS_MAX:
                return None
            watch = self._watched[rule.name, labels] = _Watch(_alert(rule, labels, value, now))
        if watch.alert.state == FIRING:
            return self._step_firing(rule, labels, watch, value, now)
        if not rule.exceeds(value):
            del self._watched[rule.name, labels]
            return None
        watch.alert = _measured(watch.alert, rule, labels, value)
        if now - watch.alert.since < rule.for_seconds:
            return None
        watch.alert = replace(watch.alert, state=FIRING, fired_at=now)
        return watch.alert

    def _step_firing(self, rule: Rule, labels: Labels, watch: _Watch, value: float, now: float) -> Alert | None:
        if not rule.is_back(value):
            watch.back_since = None
            watch.alert = _measured(watch.alert, rule, labels, value)
            return None
        watch.back_since = now if watch.back_since is None else watch.back_since
        if now - watch.back_since < rule.keep_seconds:
            return None
        del self._watched[rule.name, labels]
        summary = watch.alert.summary.removesuffix(UNMEASURED)
        cleared = replace(watch.alert, state=CLEARED, value=value, summary=summary, cleared_at=now, is_measured=True)
        self._cleared = [*self._cleared, cleared][-CLEARED_MAX:]
        return cleared


def _alert(rule: Rule, labels: Labels, value: float, now: float) -> Alert:
    return Alert(rule.name, rule.severity, PENDING, dict(labels), value, rule.say(labels, value), rule.fix, now)


def _measured(alert: Alert, rule: Rule, labels: Labels, value: float) -> Alert:
    return replace(alert, value=value, summary=rule.say(labels, value), is_measured=True)
