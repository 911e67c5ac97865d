"""The rows of the table: which figure of ours stands beside which of Kafka's, and the target it is published with."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from bench.scenarios import ACTIVE_PARTITIONS, BACKLOG_RATE, CLUSTER_SIZES, PACES
from bench.workload import BULK_1K, BULK_100, BULK_RF3, PACED, PACED_RF3, SINGLE, SPREAD, Workload

OURS, THEIRS, MACHINE = "ours", "theirs", "machine"
BEHIND_MAX = 0.05
Measured = dict[str, dict[str, list[float]]]  # side -> figure -> one value a round


class Machine(NamedTuple):
    """What the machine does without any broker."""

    synced_mb_per_s: float | None
    fdatasync_p99_ms: float | None


@dataclass(frozen=True)
class Target:
    text: str
    reached: Callable[[float, float | None, "Machine"], bool | None]  # ours, theirs, the machine by itself


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    settings: str
    fsync: str
    unit: str
    ours: str
    theirs: str
    higher_is_better: bool = True
    target: Target | None = None
    beside: str = ""  # another figure of ours that the target compares with, instead of Kafka's
    pace: str = ""  # the figure that says how far a broker fell behind an open-loop client

    def scenarios(self) -> set[str]:
        return {figure.partition(".")[0] for figure in (self.ours, self.theirs, self.beside) if figure}


@dataclass(frozen=True)
class Outcome:
    row: Row
    ours: float | None
    theirs: float | None
    reached: bool | None
    ours_kept_pace: bool = True
    theirs_kept_pace: bool = True

    ratio_range: tuple[float, float] | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.ours is not None and self.theirs else None


def ratio_at_least(least: float) -> Target:
    return Target(f"≥ {least:g}×", lambda ours, theirs, _: None if not theirs else ours / theirs >= least)


def not_above() -> Target:
    return Target("≤ 1×", lambda ours, theirs, _: None if not theirs else ours <= theirs)


def flat(within: float) -> Target:
    return Target(
        f"≤ {1 + within:g}× that of one broker",
        lambda ours, one, _: None if not one else ours <= (1 + within) * one,
    )


def below(limit: float, unit: str) -> Target:
    return Target(f"< {limit:g} {unit}", lambda ours, _theirs, _rate: ours < limit)


def at_least(least: float) -> Target:
    return Target(f"≥ {least:,.0f}", lambda ours, _theirs, _rate: ours >= least)


def durable(least: float, copies: int) -> Target:
    """Ours synced beside Kafka's unsynced default; every copy is written to the same disk here."""

    def reached(ours: float, theirs: float | None, machine: Machine) -> bool | None:
        if theirs is None or machine.synced_mb_per_s is None:
            return None
        return ours >= min(least * theirs, 0.8 * machine.synced_mb_per_s / copies)

    share = "the synced write rate" if copies == 1 else f"1/{copies} of the synced write rate"
    return Target(f"≥ {least:g}× or ≥ 80 % of {share}, the lower", reached)


def below_plus_syncs(limit_ms: float) -> Target:
    def reached(ours: float, _theirs: float | None, machine: Machine) -> bool | None:
        return None if machine.fdatasync_p99_ms is None else ours < limit_ms + 2 * machine.fdatasync_p99_ms

    return Target(f"< {limit_ms:g} ms + twice the bare fdatasync p99", reached)


def outcomes(rows: list[Row], measured: Measured) -> list[Outcome]:
    machine = Machine(*(middle(measured, MACHINE, f"disk.{name}") for name in Machine._fields))
    found = []
    for row in rows:
        ours, theirs = middle(measured, OURS, row.ours), middle(measured, THEIRS, row.theirs)
        compared = middle(measured, OURS, row.beside) if row.beside else theirs
        reached = row.target.reached(ours, compared, machine) if row.target and ours is not None else None
        ours_kept, theirs_kept = ((middle(measured, side, row.pace) or 0) <= BEHIND_MAX for side in (OURS, THEIRS))
        found.append(Outcome(row, ours, theirs, reached, ours_kept, theirs_kept, _ratio_range(row, measured)))
    return found


def _ratio_range(row: Row, measured: Measured) -> tuple[float, float] | None:
    """Lowest and highest ratio of a single round; None with fewer than two whole rounds."""
    ours, theirs = measured.get(OURS, {}).get(row.ours, []), measured.get(THEIRS, {}).get(row.theirs, [])
    if len(ours) != len(theirs) or len(ours) < 2:
        return None
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True) if other]
    return (min(ratios), max(ratios)) if ratios else None


def middle(measured: Measured, side: str, figure: str) -> float | None:
    values = measured.get(side, {}).get(figure)
    return median(values) if values else None


def _bulk(label: str, scenario: str, load: Workload, least: float, consume_least: float) -> Iterator[Row]:
    target = ratio_at_least(least)
    short = scenario.removeprefix("bulk-")
    for fsync, suffix in (("off", ""), ("on", "-fsync")):
        figure = f"{scenario}{suffix}.produce_mb_per_s"
        name = f"produce-{short}{suffix}"
        yield Row(
            name, f"produce {label}", load.stated(), fsync, "MB/s", figure, figure, target=None if suffix else target
        )
    figure = f"{scenario}.consume_mb_per_s"
    settings = f"{load.partitions} partitions, prefetch 1M records, written as above"
    yield Row(
        f"consume-{short}",
        f"consume {label}",
        settings,
        "–",
        "MB/s",
        figure,
        figure,
        target=ratio_at_least(consume_least),
    )
    figure = f"{scenario}.consumer_cores"
    yield Row(f"consumer-{short}", "the consumer's own CPU in that", settings, "–", "cores", figure, figure, False)


def _single() -> Iterator[Row]:
    for fsync, scenario in (("off", "single"), ("on", "single-fsync")):
        figure = f"{scenario}.produce_records_per_s"
        target = ratio_at_least(5) if fsync == "off" else None
        yield Row(scenario, "one record a request", SINGLE.stated(), fsync, "records/s", figure, figure, target=target)


def _latency() -> Iterator[Row]:
    for rate in PACES:
        for fsync, suffix in (("off", ""), ("on", "-fsync")):
            scenario = f"latency-{rate // 1000}k{suffix}"
            for kind, what, label in (
                ("e2e", "p50", "end to end p50"),
                ("e2e", "p99", "end to end p99"),
                ("e2e", "p999", "end to end p99.9"),
                ("ack", "p99", "ack p99"),
            ):
                figure = f"{scenario}.{kind}_{what}"
                target = not_above() if (kind, what) == ("e2e", "p99") else None
                settings = f"{rate:,} records/s, {PACED.stated()}"
                yield Row(
                    f"{scenario}-{kind}-{what}",
                    label,
                    settings,
                    fsync,
                    "ms",
                    figure,
                    figure,
                    higher_is_better=False,
                    target=target,
                    pace=f"{scenario}.behind",
                )


def _partitions() -> Iterator[Row]:
    for count in ACTIVE_PARTITIONS:
        scenario = f"partitions-{count}"
        stated = Workload(size=100, fsync=True, acks="all", linger_ms=1, partitions=count).stated()
        for what, label in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9")):
            figure = f"{scenario}.ack_{what}"
            yield Row(
                f"{scenario}-{what}",
                f"ack {label}, {count:,} active",
                f"1,000 records/s, {stated}",
                "on",
                "ms",
                figure,
                figure,
                higher_is_better=False,
                pace=f"{scenario}.behind",
            )


def _costs() -> Iterator[Row]:
    for way, label in (("in", "broker CPU per GB in"), ("out", "broker CPU per GB out")):
        figure = f"bulk-1k.cpu_s_per_gb_{way}"
        yield Row(f"cpu-{way}", label, "bulk 1 KB rows", "off", "s", figure, figure, False)
    alone = "the broker and its children"
    for name, label, settings, target, unit in (
        ("start_s", "start to first reply", "from the launch, Metadata", below(1, "s"), "s"),
        ("idle_rss_mb", "memory idle", alone, below(60, "MB"), "MB"),
        ("idle_with_launcher_mb", "memory idle, with the launcher", "all that was started", None, "MB"),
        ("after_rss_mb", "memory after the bench", alone, below(200, "MB"), "MB"),
        ("peak_rss_mb", "memory at its peak", alone, None, "MB"),
    ):
        figure = f"process.{name}"
        yield Row(name.replace("_", "-"), label, settings, "–", unit, figure, figure, False, target)


def _replicated() -> Iterator[Row]:
    bulk, stated = "rf3-bulk", BULK_RF3.stated()
    for suffix, fsync, target in (("", "off", ratio_at_least(2)), ("-fsync", "on", None)):
        figure = f"{bulk}{suffix}.produce_mb_per_s"
        yield Row(
            f"rf3-produce{suffix}", "3 brokers: produce 1 KB", stated, fsync, "MB/s", figure, figure, target=target
        )
    yield Row(
        "rf3-produce-durable",
        "3 brokers: produce 1 KB, ours synced, Kafka's not",
        stated,
        "on / off",
        "MB/s",
        f"{bulk}-fsync.produce_mb_per_s",
        f"{bulk}.produce_mb_per_s",
        target=durable(1.5, copies=3),
    )
    for suffix, fsync in (("", "off"), ("-fsync", "on")):
        scenario = f"rf3-latency-1k{suffix}"
        for kind, label, limit in (("ack", "ack p99", 5.0), ("e2e", "end to end p99", 10.0)):
            yield Row(
                f"{scenario}-{kind}-p99",
                f"3 brokers: {label}",
                f"1,000 records/s, {PACED_RF3.stated()}",
                fsync,
                "ms",
                f"{scenario}.{kind}_p99",
                f"{scenario}.{kind}_p99",
                higher_is_better=False,
                target=below_plus_syncs(limit) if suffix else below(limit, "ms"),
                pace=f"{scenario}.behind",
            )


def _clusters() -> Iterator[Row]:
    gap = "failover.worst_gap_s"
    settings = "kill -9 of one of 3 brokers, 6 partitions, RF 3, acks=all, linger 1 ms; 5 runs"
    yield Row("failover", "3 brokers: longest gap in acks", settings, "off", "s", gap, gap, False, below(3, "s"))
    for name, label, target, unit in (
        ("start_s", "3 brokers: start to the last one's reply", below(2, "s"), "s"),
        ("idle_rss_mb", "3 brokers: memory idle, each", below(100, "MB"), "MB"),
        ("after_rss_mb", "3 brokers: memory after their rows, each", None, "MB"),
    ):
        figure = f"cluster-3.{name}"
        row = f"cluster-{name.replace('_', '-')}"
        yield Row(row, label, "the brokers and their children", "–", unit, figure, figure, False, target)


def _growing() -> Iterator[Row]:
    for count in CLUSTER_SIZES:
        yield Row(
            f"cpu-brokers-{count}",
            f"{count} brokers: their CPU per GB in" if count > 1 else "1 broker: its CPU per GB in",
            f"{SPREAD.stated()}; 3 runs",
            "off",
            "s",
            f"brokers-{count}.cpu_s_per_gb_in",
            "",
            higher_is_better=False,
            target=flat(0.15) if count > 1 else None,
            beside="brokers-1.cpu_s_per_gb_in",
        )


def _groups() -> Iterator[Row]:
    members = "100 members, 1,000 partitions, classic protocol, group.initial.rebalance.delay.ms 3000"
    for name, label, target in (
        ("first_assignment_s", "group: all have their share", not_above()),
        ("rolling_restart_s", "group: all restarted, one after the other", not_above()),
    ):
        figure = f"groups-members.{name}"
        row = f"groups-{name.removesuffix('_s').replace('_', '-')}"
        yield Row(row, label, members, "off", "s", figure, figure, False, target)
    settings = "64 groups on 64 connections, one commit each at a time"
    figure = "groups-commits.per_s"
    yield Row("groups-commits", "offset commits", settings, "own default", "/s", figure, figure, target=at_least(5000))
    figure = "groups-commits.p99_ms"
    yield Row("groups-commits-p99", "offset commit p99", settings, "own default", "ms", figure, figure, False)
    settings = "3 brokers, 10,000 groups, kill -9 of a coordinator; 3 runs"
    figure = "groups-failover.again_after_s"
    target = below(5, "s")
    yield Row(
        "groups-failover", "groups: all answer again", settings, "own default", "s", figure, figure, False, target
    )


def _transactions() -> Iterator[Row]:
    for producers in (1, 16):
        who = f"{producers} producer{'s' if producers > 1 else ''}"
        for what, unit, label, settings in (
            ("commits_per_s", "/s", "commits of small transactions", "RF 3, two records of 100 B to 2 partitions each"),
            ("mb_per_s", "MB/s", "transactions of 100 ms", "RF 3, 1 KB, 6 partitions, linger 5 ms, batch 1 MB"),
        ):
            for ours, theirs, fsync, least in (
                ("", "", "off", 1.0),
                ("-fsync", "-fsync", "on", 1.0),
                ("-fsync", "", "on / off", 0.5),
            ):
                name = f"txn-{producers}-{'commits' if unit == '/s' else 'bulk'}-{fsync.replace(' / ', '-')}"
                figures = f"txn-{producers}{ours}.{what}", f"txn-{producers}{theirs}.{what}"
                yield Row(
                    name,
                    f"3 brokers: {label}",
                    f"{who}, {settings}",
                    fsync,
                    unit,
                    *figures,
                    target=ratio_at_least(least),
                )
    settings = "4 partitions, transactions of 100 ms, prefetch 1M records"
    figure = "txn-read.committed_mb_per_s"
    yield Row("txn-read", "consume 1 KB, read_committed", settings, "–", "MB/s", figure, figure)
    figure = "txn-read.share"
    own = Target("≥ 0.9", lambda ours, _theirs, _rate: ours >= 0.9)
    yield Row(
        "txn-read-share", "read_committed against read_uncommitted", settings, "–", "×", figure, figure, target=own
    )


def _all() -> list[Row]:
    durable_row = Row(
        "produce-1k-durable",
        "produce 1 KB, ours synced, Kafka's not",
        BULK_1K.stated(),
        "on / off",
        "MB/s",
        "bulk-1k-fsync.produce_mb_per_s",
        "bulk-1k.produce_mb_per_s",
        target=durable(1.2, copies=1),
    )
    pace = f"{BULK_1K.stated()}; meanwhile {BACKLOG_RATE:,} records/s in"
    drain, feed = "backlog.consume_mb_per_s", "backlog.produce_mb_per_s"
    return [
        *_bulk("1 KB", "bulk-1k", BULK_1K, 2, 1.2),
        durable_row,
        *_bulk("100 B", "bulk-100", BULK_100, 1.5, 0.9),
        *_single(),
        *_latency(),
        *_partitions(),
        Row("backlog-drain", "backlog of 5 GB: drained at", pace, "off", "MB/s", drain, drain),
        Row("backlog-feed", "backlog of 5 GB: meanwhile produced", pace, "off", "MB/s", feed, feed),
        *_costs(),
        *_replicated(),
        *_clusters(),
        *_groups(),
        *_transactions(),
        *_growing(),
    ]


ROWS = _all()
