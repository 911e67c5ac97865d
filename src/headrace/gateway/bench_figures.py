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
    """What this run did not measure stays as in docs/bench.md, and the source says so."""
    try:
        content = json.loads(path.read_text())
        rows = {row["name"]: row["ours"] for row in content["rows"]}
        synced = content["measured"].get("machine", {}).get("disk.synced_mb_per_s", [])
    except OSError as error:
        raise UserError(f"cannot read {path}: {(error.strerror or str(error)).lower()}", FIX) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{path} is no result of the bench", FIX) from None
    return _measured(path, content.get("machine", {}), rows, synced)


def _measured(path: Path, machine: Mapping[str, Any], rows: Mapping[str, Any], synced: Sequence[float]) -> Measured:
    figures = {name: float(rows[name]) for name in NEEDED if rows.get(name)}
    if not figures and not synced:
        raise UserError(f"{path} has none of the rows {', '.join(NEEDED)}", FIX)
    missing = [name for name in NEEDED if name not in figures] + ([] if synced else ["disk.synced_mb_per_s"])
    source = f"{path.name} ({machine.get('cores', '?')} cores, {machine.get('cpu', 'unknown CPU')})"
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
