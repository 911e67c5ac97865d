"""The planner's constants from a run of `python -m bench`: the rows of its JSON that say what a core and a disk can do."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from headrace.base.errors import UserError
from headrace.gateway.planner import FROM_DOCS, Measured

NEEDED = ("cpu-in", "cpu-out", "single", "peak-rss-mb")
FIX = "run `python -m bench` and name bench/out/latest.json"


def read_measured(path: Path) -> Measured:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {(error.strerror or str(error)).lower()}", FIX) from None
    return parse_measured(path.name, content)


def parse_measured(name: str, content: bytes | str) -> Measured:
    """The figures of a run of the bench; one that it did not measure is taken from docs/bench.md, and the source says so."""
    try:
        found = json.loads(content)
        rows = {row["name"]: row["ours"] for row in found["rows"]}
        figures = {each: _figure(rows[each]) for each in NEEDED if rows.get(each)}
        synced = [_figure(each) for each in found["measured"].get("machine", {}).get("disk.synced_mb_per_s", [])]
        machine = dict(found.get("machine", {}))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{name} is no result of the bench", FIX) from None
    return _measured(name, machine, figures, synced)


def _figure(value: Any) -> float:
    figure = float(value)
    if not 0 < figure < float("inf"):
        raise ValueError(f"{value} cannot have been measured")
    return figure


def _measured(name: str, machine: Mapping[str, Any], figures: Mapping[str, float], synced: Sequence[float]) -> Measured:
    if not figures and not synced:
        raise UserError(f"{name} has none of the rows {', '.join(NEEDED)}", FIX)
    missing = [name for name in NEEDED if name not in figures] + ([] if synced else ["disk.synced_mb_per_s"])
    source = f"{name} ({machine.get('cores', '?')} cores, {machine.get('cpu', 'unknown CPU')})"
    if missing:
        source += f"; {', '.join(missing)} from {FROM_DOCS.source}"
    return Measured(
        source,
        figures.get("cpu-in", FROM_DOCS.cpu_per_gb_in),
        figures.get("cpu-out", FROM_DOCS.cpu_per_gb_out),
        figures.get("single", FROM_DOCS.requests_per_core),
        median(synced) * 1e6 if synced else FROM_DOCS.disk_bytes_per_second,
        figures["peak-rss-mb"] * 1e6 if "peak-rss-mb" in figures else FROM_DOCS.broker_memory_bytes,
    )
