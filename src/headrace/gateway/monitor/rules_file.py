"""The rules as Prometheus reads them.

    python -m headrace.gateway.monitor.rules_file > deploy/prometheus/headrace.rules.yml

Prometheus knows no second threshold for clearing; `keep_firing_for` is what it has against trembling.
"""

import json
from collections.abc import Iterable, Iterator

from headrace.gateway.monitor.rules import RULES, Rule

HEAD = """\
# Written by `python -m headrace.gateway.monitor.rules_file` from the rules that the gateway evaluates itself; a test holds
# the two together. HeadraceLagGrowing, and HeadraceNoLeader when no broker is left, need the gateway's /metrics among the
# targets.
groups:
  - name: headrace
    rules:"""


def rules_text(rules: Iterable[Rule] = RULES) -> str:
    return "\n".join([HEAD, *(line for rule in rules for line in _lines(rule))]) + "\n"


def _lines(rule: Rule) -> Iterator[str]:
    yield f"      - alert: {rule.name}"
    yield f"        expr: {rule.promql.format(threshold=f'{rule.threshold:g}', window=_duration(rule.window_seconds))}"
    yield f"        for: {_duration(rule.for_seconds)}"
    yield f"        keep_firing_for: {_duration(rule.keep_seconds)}"
    yield "        labels:"
    yield f"          severity: {rule.severity}"
    yield "        annotations:"
    # JSON's strings are YAML's too.
    yield f"          summary: {json.dumps(_annotation(rule), ensure_ascii=False)}"
    yield f"          fix: {json.dumps(rule.fix, ensure_ascii=False)}"


def _annotation(rule: Rule) -> str:
    shown = "{{ $value | humanizeDuration }}" if rule.value_text(60) != "60" else "{{ $value | humanize }}"
    # Prometheus calls a broker by the address that it scrapes.
    names = {"topic": "topic", "broker": "instance", "group": "group"}
    labels = {ours: f"{{{{ $labels.{theirs} }}}}" for ours, theirs in names.items()}
    return rule.summary.format(value=shown, **labels)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:g}m" if seconds >= 60 and seconds % 60 == 0 else f"{seconds:g}s"


if __name__ == "__main__":
    print(rules_text(), end="")
