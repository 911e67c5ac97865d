"""What producers were told, set against what a reader finds: the judge of every chaos test.

Each producer numbers its records 0, 1, 2, … and writes `producer number` as the value, so a record says by itself who
wrote it and when in that producer's life. `Ledger` takes the acknowledgements, `check` the records that are there:

    nothing acknowledged is lost      it is at the offset that the acknowledgement named
    no offset is given twice          two acknowledgements never name one offset, and offsets read back are dense
    nothing is there twice            for producers that are idempotent
    order is kept                     numbers of one producer rise with the offset (plain ones may repeat, and keep their
                                      order only as long as one broker leads: a resend goes to the next one)

Knows no client library and no broker: acknowledgements and records go in as plain values.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from eventually import until

Place = tuple[str, int]
"""A topic and a partition."""


class Written(NamedTuple):
    """One record of a producer; its value on the wire is `encode()`."""

    producer: str
    number: int

    def encode(self) -> bytes:
        return f"{self.producer} {self.number}".encode()

    @classmethod
    def decode(cls, value: bytes) -> "Written":
        producer, _, number = value.partition(b" ")
        return cls(producer.decode(), int(number))


class Found(NamedTuple):
    offset: int
    written: Written


class Ledger:
    """Acknowledgements by partition. Client libraries call back from threads of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._acknowledged: defaultdict[Place, dict[int, Written]] = defaultdict(dict)
        self._acknowledged_somewhere: defaultdict[Place, list[Written]] = defaultdict(list)
        self._given_twice: list[str] = []

    def acknowledge(self, place: Place, offset: int | None, written: Written) -> None:
        """Without an offset when a client only learnt that it is there already: then anywhere will do."""
        with self._lock:
            if offset is None:
                self._acknowledged_somewhere[place].append(written)
                return
            before = self._acknowledged[place].setdefault(offset, written)
        if before != written:
            self._given_twice.append(f"{place}: offset {offset} was given to {before} and to {written}")

    @property
    def count(self) -> int:
        with self._lock:
            return sum(map(len, (*self._acknowledged.values(), *self._acknowledged_somewhere.values())))

    def wait_for_progress(self, seconds: float = 30.0) -> None:
        """Returns when something more was acknowledged."""
        before = self.count
        until(lambda: self.count, lambda count: count != before, seconds, "nothing was acknowledged")

    def check(
        self, found: Mapping[Place, Iterable[Found]], idempotent: Iterable[str], *, one_leader: bool = True
    ) -> list[str]:
        """Every broken promise, in words; an empty list when all were kept."""
        exactly_once = frozenset(idempotent)
        broken = list(self._given_twice)
        for place in {**self._acknowledged, **found}:
            records = list(found.get(place, ()))
            broken += _lost(place, self._acknowledged[place], records)
            broken += _missing(place, self._acknowledged_somewhere[place], records)
            broken += _gaps(place, records)
            broken += _disorder(place, records, exactly_once, one_leader)
        return broken


def _lost(place: Place, acknowledged: Mapping[int, Written], records: list[Found]) -> list[str]:
    there = {record.offset: record.written for record in records}
    return [
        f"{place}: offset {offset} was acknowledged to {written}, and holds {there.get(offset)}"
        for offset, written in acknowledged.items()
        if there.get(offset) != written
    ]


def _missing(place: Place, acknowledged: list[Written], records: list[Found]) -> list[str]:
    there = {record.written for record in records}
    return [f"{place}: {written} was acknowledged, and is nowhere" for written in acknowledged if written not in there]


def _gaps(place: Place, records: list[Found]) -> list[str]:
    return [
        f"{place}: after offset {before.offset} comes {after.offset}"
        for before, after in pairwise(records)
        if after.offset != before.offset + 1
    ]


def _disorder(place: Place, records: list[Found], exactly_once: frozenset[str], one_leader: bool) -> list[str]:
    by_producer: defaultdict[str, list[int]] = defaultdict(list)
    for record in records:
        by_producer[record.written.producer].append(record.written.number)
    broken = []
    for producer, numbers in by_producer.items():
        if producer in exactly_once:
            broken += _not_rising(place, producer, numbers)
        elif one_leader:
            # A plain producer may send again, and then all that it had in flight comes once more, in order: what is
            # new must still come in order.
            broken += _not_rising(place, producer, list(dict.fromkeys(numbers)))
    return broken


def _not_rising(place: Place, producer: str, numbers: list[int]) -> list[str]:
    return [
        f"{place}: {producer} wrote {before} before {after}, or one of them twice"
        for before, after in pairwise(numbers)
        if after <= before
    ]
