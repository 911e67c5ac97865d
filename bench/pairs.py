"""Two brokers that differ in one thing, side by side under the same loads: what each spends of the CPU, in pairs.

The load goes to one, then to the other, in short turns, so that what else the machine does falls on both alike. The figure
is the median over pairs of the ratio of CPU seconds, with the smallest and the largest beside it.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench import proc
from bench.scenarios import Stage, _consume, _produce
from bench.topics import topic
from bench.workload import BULK_1K, SINGLE

METRICS_PORT_SHIFT = 1000
SINGLE_RECORDS = 60_000
SYNCED_RECORDS = 40_000

Play = Callable[[Stage, float], float]


@dataclass
class Served:
    """A broker by itself: a module with its first words, and what of the environment and of the settings is its own."""

    name: str
    words: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def version(self) -> str:
        return self.name

    def prepare(self, data: Path, brokers: int, port: int) -> list[list[str]]:
        own = ["env", *(f"{name}={value}" for name, value in self.environment.items())]
        places = ["--data", str(data / "data"), "--port", str(port), "--metrics-port", str(port + METRICS_PORT_SHIFT)]
        chosen = [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return [[*own, sys.executable, "-m", *self.words, *places, *chosen]]

    def broker_pids(self, data: Path, launched: list[int]) -> list[int]:
        return launched


class Compared(NamedTuple):
    """The two figures, each a median, and by how much of the other the first is dearer: median, least, most."""

    figures: tuple[float, float]
    cost: float
    least: float
    most: float

    def line(self, name: str, unit: str, sides: tuple[str, str]) -> str:
        first, second = self.figures
        of_each = f"{first:.3g} {sides[0]}, {second:.3g} {sides[1]} ({unit})"
        return f"{name}: {of_each}; cost {self.cost:+.1%} (pairs {self.least:+.1%} to {self.most:+.1%})"


def bulk(stage: Stage, gigabytes: float) -> float:
    """CPU seconds a GB, in and out together."""
    with topic(stage.broker, BULK_1K.partitions, fsync=False) as name:
        before = proc.running_seconds(stage.broker.pids)
        wanted = _produce(name, BULK_1K, gigabytes * 1e6, 60)
        stored = stage.run("produce", wanted, BULK_1K.producer())["stored"]
        _consume(stage, name, BULK_1K, stored)
        return float((proc.running_seconds(stage.broker.pids) - before) / (stored * BULK_1K.size / 1e9))


def single(stage: Stage, gigabytes: float) -> float:
    """CPU microseconds a request of one record, which waits for no disk."""
    return _one_by_one(stage, SINGLE_RECORDS, fsync=False)


def synced(stage: Stage, gigabytes: float) -> float:
    """CPU microseconds a request of one record that is synced before its ack, a hundred at a time."""
    return _one_by_one(stage, SYNCED_RECORDS, fsync=True)


def _one_by_one(stage: Stage, records: int, fsync: bool) -> float:
    with topic(stage.broker, SINGLE.partitions, fsync=fsync) as name:
        before = proc.running_seconds(stage.broker.pids)
        stored = stage.run("produce", _produce(name, SINGLE, records, 60), SINGLE.producer())["stored"]
        return float((proc.running_seconds(stage.broker.pids) - before) / stored * 1e6)


def compare(play: Play, first: Stage, second: Stage, pairs: int, turns: int, gigabytes: float) -> Compared:
    """A pair is `turns` short turns of each, which change who goes first; `gigabytes` go to each in a pair."""
    spent = []
    for _ in range(pairs):
        sums = [0.0, 0.0]
        for turn in range(turns):
            for side in (0, 1) if turn % 2 else (1, 0):
                sums[side] += play((first, second)[side], gigabytes / turns)
        spent.append((sums[0] / turns, sums[1] / turns))
        print(f"{play.__name__}: {spent[-1][0]:.3g} and {spent[-1][1]:.3g}", file=sys.stderr, flush=True)
    ratios = sorted(one / other for one, other in spent)
    figures = median(one for one, _ in spent), median(other for _, other in spent)
    return Compared(figures, median(ratios) - 1, ratios[0] - 1, ratios[-1] - 1)
