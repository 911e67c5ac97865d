"""Needs of a load: bytes, disks, brokers, network, memory, and how that grows. A calculation that shows its working.

    plan(Load(rate=1e6, size_bytes=1000), FROM_DOCS) → a list of lines, each a name, its arithmetic and its result

The model is linear in bytes and in requests, since that is what the bench shows: a broker never opens a batch, so what it
does costs CPU by the gigabyte, and a little more by the request. What a core, a disk and a broker can do are `Measured`;
how much of that to use are `Margins`, and they are opinions. It knows nothing of skew, TLS or broker-side compression.
"""

from math import ceil
from typing import Final, NamedTuple

from headrace.base.units import DAY, bytes_text, count_text, seconds_text

GB: Final = 1e9
GROWTH: Final = (1, 2, 5, 10)


class Load(NamedTuple):
    rate: float
    """Messages a second."""
    size_bytes: float
    replication_factor: int = 3
    retention_seconds: float = 7 * DAY
    readers: int = 1
    """Groups that read everything."""
    batch_bytes: float = 100_000
    """Bytes that a producer sends at once."""


class Measured(NamedTuple):
    source: str
    cpu_per_gb_in: float
    """Seconds of a core to take a gigabyte in, from a producer or from a leader."""
    cpu_per_gb_out: float
    requests_per_core: float
    """Requests a second that fill a core when there is next to nothing in each."""
    disk_bytes_per_second: float
    """Written and synced."""
    broker_memory_bytes: float


FROM_DOCS: Final = Measured("docs/bench.md (2 cores of an AMD EPYC)", 0.54, 0.40, 24_621, 1.248e9, 83.2e6)


class Margins(NamedTuple):
    core_share: float = 0.6
    """The share of a broker's one core to plan with, so that bursts and catching up find room."""
    disk_share: float = 0.7
    """The share of a disk's write rate to plan with."""
    fill_share: float = 0.8
    """The share of a disk's size to fill."""
    network_share: float = 0.7
    disk_bytes: float = 16e12
    network_bytes_per_second: float = 25e9 / 8
    cached_seconds: float = 60.0
    """Readers that are no further behind find what they want in memory."""


class Line(NamedTuple):
    about: str
    name: str
    working: str
    result: str
    value: float


class Grown(NamedTuple):
    """The needs of so many times the load."""

    times: int
    brokers: int
    disks: int
    stored_bytes: float
    monthly_cost: float | None


class Prices(NamedTuple):
    """A month of one broker (a core, its memory and network), and of a terabyte of disk, in any currency."""

    broker: float
    terabyte: float

    def monthly(self, brokers: float, stored_bytes: float) -> float:
        return brokers * self.broker + stored_bytes / 1e12 * self.terabyte


class Plan(NamedTuple):
    load: Load
    measured: Measured
    lines: list[Line]
    growth: list[Grown]

    def value(self, name: str) -> float:
        return next(line.value for line in self.lines if line.name == name)


def plan(
    load: Load, measured: Measured = FROM_DOCS, margins: Margins = Margins(), prices: Prices | None = None
) -> Plan:
    return Plan(load, measured, _sheet(load, measured, margins, prices).lines, _growth(load, measured, margins, prices))


def _growth(load: Load, measured: Measured, margins: Margins, prices: Prices | None) -> list[Grown]:
    grown = []
    for times in GROWTH:
        values = _sheet(load._replace(rate=load.rate * times), measured, margins, prices).values
        brokers, disks, stored = (values[name] for name in ("brokers", "disks", "on all disks"))
        grown.append(Grown(times, int(brokers), int(disks), stored, values.get("a month costs")))
    return grown


class _Sheet:
    """Lines in the making, and their values by name for the lines that follow."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.values: dict[str, float] = {}

    def add(self, about: str, name: str, working: str, value: float, result: str) -> float:
        self.lines.append(Line(about, name, working, result, value))
        self.values[name] = value
        return value


def _sheet(load: Load, measured: Measured, margins: Margins, prices: Prices | None) -> _Sheet:
    sheet = _Sheet()
    _bytes(sheet, load)
    _brokers(sheet, load, measured, margins)
    _disks(sheet, measured, margins)
    _network(sheet, load, margins)
    _memory(sheet, measured, margins)
    if prices is not None:
        brokers, stored = sheet.values["brokers"], sheet.values["on all disks"]
        working = f"{brokers:.0f} brokers × {prices.broker:g} + {bytes_text(stored)} × {prices.terabyte:g} a TB"
        cost = prices.monthly(brokers, stored)
        sheet.add("cost", "a month costs", working, cost, f"{cost:,.0f}")
    return sheet


def _bytes(sheet: _Sheet, load: Load) -> None:
    rate, copies = load.rate * load.size_bytes, load.replication_factor
    a_second = bytes_text(rate) + "/s"
    working = f"{count_text(load.rate)} messages/s × {bytes_text(load.size_bytes)}"
    sheet.add("bytes", "in", working, rate, a_second)
    sheet.add(
        "bytes",
        "inside",
        f"{a_second} × {_counted(copies, 'replica')}",
        rate * copies,
        bytes_text(rate * copies) + "/s",
    )
    sheet.add(
        "bytes",
        "out",
        f"{a_second} × {_counted(load.readers, 'reader')}",
        rate * load.readers,
        _rate(rate * load.readers),
    )
    sheet.add("bytes", "a day", f"{a_second} × 86,400 s", rate * DAY, bytes_text(rate * DAY))
    sheet.add("bytes", "a week", f"{bytes_text(rate * DAY)} × 7 days", rate * 7 * DAY, bytes_text(rate * 7 * DAY))
    kept = rate * load.retention_seconds
    sheet.add("bytes", "kept", f"{a_second} × {seconds_text(load.retention_seconds)}", kept, bytes_text(kept))
    stored = kept * copies
    sheet.add(
        "bytes", "on all disks", f"{bytes_text(kept)} × {_counted(copies, 'replica')}", stored, bytes_text(stored)
    )


def _brokers(sheet: _Sheet, load: Load, measured: Measured, margins: Margins) -> None:
    inside, sent = sheet.values["inside"] / GB, _sent(sheet, load) / GB
    requests = sheet.values["in"] / max(load.batch_bytes, load.size_bytes)
    working = f"{bytes_text(sheet.values['in'])}/s ÷ {bytes_text(max(load.batch_bytes, load.size_bytes))} a batch"
    sheet.add("brokers", "requests", working, requests, f"{requests:,.0f} /s")
    cores = inside * measured.cpu_per_gb_in + sent * measured.cpu_per_gb_out + requests / measured.requests_per_core
    working = (
        f"{inside:.3g} GB/s × {measured.cpu_per_gb_in:.2g} s in + {sent:.3g} GB/s × {measured.cpu_per_gb_out:.2g} s out"
        f" + {requests:,.0f} requests/s ÷ {measured.requests_per_core:,.0f}"
    )
    sheet.add("brokers", "cores at work", working, cores, f"{cores:.1f}")
    needed = ceil(cores / margins.core_share)
    brokers = max(load.replication_factor, needed) + 1
    working = f"{cores:.1f} ÷ {margins.core_share:.0%} of the one core of each = {needed}"
    if needed < load.replication_factor:
        working += f"; at least {load.replication_factor} for the replicas"
    sheet.add("brokers", "brokers", f"{working}; 1 more, so that one may fail", brokers, f"{brokers}")


def _disks(sheet: _Sheet, measured: Measured, margins: Margins) -> None:
    stored, written = sheet.values["on all disks"], sheet.values["inside"]
    by_size = ceil(stored / (margins.disk_bytes * margins.fill_share))
    working = f"{bytes_text(stored)} ÷ {margins.fill_share:.0%} of {bytes_text(margins.disk_bytes)}"
    sheet.add("disks", "disks to hold it", working, by_size, f"{by_size:,}")
    by_rate = ceil(written / (measured.disk_bytes_per_second * margins.disk_share))
    working = f"{_rate(written)} ÷ {margins.disk_share:.0%} of {_rate(measured.disk_bytes_per_second)} synced"
    sheet.add("disks", "disks to write it", working, by_rate, f"{by_rate:,}")
    disks = max(by_size, by_rate, int(sheet.values["brokers"]))
    sheet.add("disks", "disks", "the most of these, and at least one for each broker", disks, f"{disks:,}")
    each = ceil(disks / sheet.values["brokers"])
    working = f"{disks:,} ÷ {sheet.values['brokers']:.0f}; as one volume, since a broker has one data directory"
    sheet.add("disks", "disks a broker", working, each, f"{each:,}")


def _network(sheet: _Sheet, load: Load, margins: Margins) -> None:
    received, sent, brokers = sheet.values["inside"], _sent(sheet, load), sheet.values["brokers"]
    working = f"{_rate(received)} ÷ {brokers:.0f}"
    sheet.add("network", "each broker receives", working, received / brokers, _rate(received / brokers))
    readers = f"{_counted(load.replication_factor - 1, 'follower')} + {_counted(load.readers, 'reader')}"
    working = f"({readers}) × {_rate(sheet.values['in'])} ÷ {brokers:.0f}"
    sheet.add("network", "each broker sends", working, sent / brokers, _rate(sent / brokers))
    line = margins.network_bytes_per_second
    links = ceil(max(received, sent) / (line * margins.network_share))
    working = f"{_rate(max(received, sent))} ÷ {margins.network_share:.0%} of {line * 8 / 1e9:g} Gb/s"
    sheet.add("network", "links", working, links, f"{links}")


def _memory(sheet: _Sheet, measured: Measured, margins: Margins) -> None:
    cache = sheet.values["inside"] * margins.cached_seconds
    working = f"{_rate(sheet.values['inside'])} × {seconds_text(margins.cached_seconds)} of page cache"
    sheet.add("memory", "to read from memory", working, cache, bytes_text(cache))
    own = sheet.values["brokers"] * measured.broker_memory_bytes
    working = f"{sheet.values['brokers']:.0f} × {bytes_text(measured.broker_memory_bytes)} for the brokers + the cache"
    sheet.add("memory", "memory", working, own + cache, bytes_text(own + cache))


def _sent(sheet: _Sheet, load: Load) -> float:
    return sheet.values["in"] * (load.replication_factor - 1 + load.readers)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _rate(bytes_per_second: float) -> str:
    return bytes_text(bytes_per_second) + "/s"
