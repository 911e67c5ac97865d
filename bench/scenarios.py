"""Scenarios: each drives one broker once and returns named figures; rows of the table are made from figures.

A figure's name is `scenario.what`. A scenario makes its own topic and leaves nothing behind.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench import native
from bench.broker import Running
from bench.topics import topic
from bench.workload import BULK_1K, BULK_100, BULK_RF3, PACED, PACED_RF3, SINGLE, SPREAD, Workload

Figures = dict[str, float]
ACTIVE_PARTITIONS = (1, 100, 1000)
PACES = (1_000, 50_000)
CLUSTER_SIZES = (1, 2, 3, 4)
_GB = 1e9


@dataclass(frozen=True)
class Stage:
    """A running broker, the clients and how much load to use: 1 for a full run, less for a quick one."""

    broker: Running
    clients: native.Clients
    scale: float
    round: int = 0

    def run(self, program: str, options: dict[str, object], properties: dict[str, object]) -> dict[str, Any]:
        return self.clients.run(program, {"brokers": self.broker.bootstrap, **options}, properties)

    def start(self, program: str, options: dict[str, object], properties: dict[str, object]) -> Any:
        return self.clients.start(program, {"brokers": self.broker.bootstrap, **options}, properties)


@dataclass(frozen=True)
class Scenario:
    name: str
    play: Callable[[Stage], Figures]
    once: bool = False  # too long to repeat: one round, no median
    brokers: int = 1
    fresh_runs: int = 0  # so many times, each on brokers of its own: it spoils them
    ours_only: bool = False  # about us alone: nothing of Kafka's to stand beside it


def warm_up(stage: Stage) -> None:
    """Time for a just-in-time compiler, and for us the same, before anything counts."""
    with topic(stage.broker, BULK_1K.partitions, fsync=False, copies=min(3, len(stage.broker.pids))) as name:
        produced = stage.run("produce", _produce(name, BULK_1K, 4e6, max(3, 4 * stage.scale)), BULK_1K.producer())
        _consume(stage, name, BULK_1K, produced["stored"])
    with topic(stage.broker, SINGLE.partitions, fsync=False) as name:
        stage.run("produce", _produce(name, SINGLE, 1e6, max(2, 3 * stage.scale)), SINGLE.producer())


def _produce(name: str, load: Workload, records: float, seconds: float) -> dict[str, object]:
    chunk = 1 if load.batch_records == 1 else 256
    shape = {"topic": name, "partitions": load.partitions, "size": load.size, "chunk": chunk}
    return {**shape, "records": int(records), "seconds": seconds}


def _consume(stage: Stage, name: str, load: Workload, records: int) -> dict[str, Any]:
    options: dict[str, object] = {"topic": name, "partitions": load.partitions, "records": records}
    return stage.run("consume", options, load.consumer())


def _bulk(load: Workload, records: float, seconds: float, consume: bool) -> Callable[[Stage], Figures]:
    def play(stage: Stage) -> Figures:
        with topic(stage.broker, load.partitions, load.fsync, load.copies) as name:
            cpu_before = stage.broker.cpu_seconds()
            wanted = _produce(name, load, records * stage.scale, seconds)
            produced = stage.run("produce", wanted, load.producer())
            cpu_in = stage.broker.cpu_seconds() - cpu_before
            figures = {
                "produce_mb_per_s": produced["mb_per_s"],
                "produce_records_per_s": produced["records_per_s"],
                "cpu_s_per_gb_in": cpu_in / (produced["stored"] * load.size / _GB),
            }
            if consume:
                figures |= _read_back(stage, name, load, produced["stored"])
        return figures

    return play


def _read_back(stage: Stage, name: str, load: Workload, stored: int) -> Figures:
    cpu_before = stage.broker.cpu_seconds()
    consumed = _consume(stage, name, load, stored)
    cpu_out = stage.broker.cpu_seconds() - cpu_before
    return {
        "consume_mb_per_s": consumed["mb_per_s"],
        "consume_records_per_s": consumed["records_per_s"],
        "consumer_cores": consumed["cores"],
        "cpu_s_per_gb_out": cpu_out / (stored * load.size / _GB),
    }


def _paced(load: Workload, rate: int, seconds: float, consume: bool) -> Callable[[Stage], Figures]:
    def play(stage: Stage) -> Figures:
        with topic(stage.broker, load.partitions, load.fsync, load.copies) as name:
            shape = {"topic": name, "partitions": load.partitions, "size": load.size, "consume": int(consume)}
            warm = max(2, 3 * stage.scale)
            timing = {"rate": rate, "seconds": warm + seconds * stage.scale, "warmup": warm}
            result = stage.run("latency", {**shape, **timing}, load.both())
        kinds = ("ack", "e2e") if consume else ("ack",)
        return {"behind": result["behind"]} | {
            f"{kind}_{what}": float(value) for kind in kinds for what, value in result[kind].items()
        }

    return play


BACKLOG_RATE = 50_000  # records of 1 KB a second that go on arriving while the backlog is read
BACKLOG_RECORDS = 5e6


def _backlog(stage: Stage) -> Figures:
    """A consumer starts 5 GB behind while a producer keeps its pace; if one starves the other, a figure shows it."""
    load = BULK_1K
    with topic(stage.broker, load.partitions, load.fsync) as name:
        fill = _produce(name, load, BACKLOG_RECORDS * stage.scale, native.CLIENT_DEADLINE_S / 2)
        behind = stage.run("produce", fill, load.producer())["stored"]
        go_on = {**_produce(name, load, 1e12, native.CLIENT_DEADLINE_S / 2), "rate": BACKLOG_RATE}
        producer = stage.start("produce", go_on, load.producer())
        try:
            time.sleep(1)  # the producer has connected and keeps its pace
            consumed = _consume(stage, name, load, behind)
        finally:
            producer.terminate()
            produced = native.finish(producer)
    return {"consume_mb_per_s": consumed["mb_per_s"], "produce_mb_per_s": produced["mb_per_s"]}


def _all() -> list[Scenario]:
    found = [
        Scenario("bulk-1k", _bulk(BULK_1K, 2e6, 20, consume=True)),
        Scenario("bulk-1k-fsync", _bulk(BULK_1K.with_fsync(True), 2e6, 6, consume=False)),
        Scenario("bulk-100", _bulk(BULK_100, 10e6, 20, consume=True)),
        Scenario("bulk-100-fsync", _bulk(BULK_100.with_fsync(True), 10e6, 6, consume=False)),
        Scenario("single", _bulk(SINGLE, 1e6, 5, consume=False)),
        Scenario("single-fsync", _bulk(SINGLE.with_fsync(True), 1e6, 5, consume=False)),
    ]
    for rate in PACES:
        for fsync in (False, True):
            name = f"latency-{rate // 1000}k{'-fsync' if fsync else ''}"
            found.append(Scenario(name, _paced(PACED.with_fsync(fsync), rate, 6, consume=True)))
    for partitions in ACTIVE_PARTITIONS:
        load = Workload(size=100, fsync=True, acks="all", linger_ms=1, partitions=partitions)
        found.append(Scenario(f"partitions-{partitions}", _paced(load, 1_000, 6, consume=False), once=True))
    return [*found, Scenario("backlog", _backlog, once=True), *_replicated(), *_growing()]


def _replicated() -> list[Scenario]:
    found = []
    for fsync, suffix in ((False, ""), (True, "-fsync")):
        bulk, paced = BULK_RF3.with_fsync(fsync), PACED_RF3.with_fsync(fsync)
        found.append(Scenario(f"rf3-bulk{suffix}", _bulk(bulk, 1e6, 12, consume=False), brokers=3))
        found.append(Scenario(f"rf3-latency-1k{suffix}", _paced(paced, 1_000, 8, consume=True), brokers=3))
    return found


def _growing() -> list[Scenario]:
    """The same load on ever more brokers."""
    return [
        Scenario(f"brokers-{count}", _spread, brokers=count, fresh_runs=3, ours_only=True) for count in CLUSTER_SIZES
    ]


def _spread(stage: Stage) -> Figures:
    warm_up(stage)
    return _bulk(SPREAD, 2e6, 20, consume=False)(stage)


SCENARIOS = _all()
