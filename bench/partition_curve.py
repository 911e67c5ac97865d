"""How many partitions: three brokers with ever more of them, and what that costs.

    python -m bench.partition_curve 100x10x3 1000x10x3 10000x10x1        topics × partitions × replicas

Prints what each step took and writes the table of docs/operations.md to bench/out/partitions.md.
"""

import argparse
import json
from pathlib import Path

from bench.partition_story import BROKERS, Size, Story
from headrace.testing import Cluster

START_SECONDS = 300.0
OUT = Path(__file__).parent / "out"
CURVE = ["100x10x3", "1000x10x3", "3000x10x3", "10000x10x1"]
_COLUMNS = {
    "create_s": "created in",
    "create_cpu_s": "CPU of each broker for it",
    "rss_created_mb": "memory per broker",
    "files_created": "files open",
    "idle_cpu_created_percent": "idle CPU",
    "store_created_mb": "store",
    "metadata_created_mb": "Metadata reply",
    "failover_s": "fail-over",
    "back_s": "broker back",
    "stop_s": "stop",
    "restart_s": "start",
    "restart_cpu_s": "CPU of each broker for it",
}
_UNITS = {"s": "s", "mb": "MB", "percent": "%"}


def measure(size: Size, data: Path | None, log_level: str) -> dict[str, float]:
    print(
        f"{size.topics:,} topics × {size.partitions} partitions, {size.replicas} replicas, {BROKERS} brokers",
        flush=True,
    )
    cluster = Cluster(BROKERS, data=data, log_level=log_level, start_seconds=START_SECONDS)
    try:
        return Story(cluster, size).play()
    finally:
        cluster.close()


def table(measured: dict[Size, dict[str, float]]) -> str:
    lines = ["| partitions | " + " | ".join(_COLUMNS.values()) + " |", "|---|" + "---|" * len(_COLUMNS)]
    for size, figures in measured.items():
        cells = [_cell(name, figures[name]) for name in _COLUMNS]
        lines.append(f"| {size.total:,} (RF {size.replicas}) | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(name: str, value: float) -> str:
    unit = _UNITS.get(name.rpartition("_")[2], "")
    return f"{value:,.0f} {unit}".strip() if value >= 20 else f"{value:.1f} {unit}".strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=CURVE, metavar="TOPICSxPARTITIONSxREPLICAS")
    parser.add_argument("--data", type=Path, help="keep the data there instead of a temporary directory")
    parser.add_argument("--log-level", default="error")
    given = parser.parse_args()
    measured = {size: measure(size, given.data, given.log_level) for size in map(Size.parse, given.sizes)}
    OUT.mkdir(exist_ok=True)
    (OUT / "partitions.md").write_text(table(measured))
    (OUT / "partitions.json").write_text(
        json.dumps({str(tuple(size)): found for size, found in measured.items()}, indent=2)
    )
    print(table(measured))


if __name__ == "__main__":
    main()
