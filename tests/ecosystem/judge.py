"""What went into a topic, or was acknowledged, against what is there in the end: broken promises, in words."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from chaos.ledger import Found, Ledger, Place, Written

SHOWN = 10

Log = Mapping[Place, list[Found]]


def acknowledged(topic: str, acks: Path) -> Ledger:
    """What a program was told, from the lines `partition offset value` that it wrote."""
    ledger = Ledger()
    for line in acks.read_bytes().splitlines():
        partition, offset, value = line.split(b" ", 2)
        ledger.acknowledge((topic, int(partition)), int(offset), Written.decode(value))
    return ledger


def lost(sent: Iterable[Written], found: Log) -> list[str]:
    """Records that were acknowledged on their way in, and came out nowhere."""
    there = {record.written for records in found.values() for record in records}
    return [f"{written} was sent, and is nowhere" for written in sent if written not in there][:SHOWN]


def repeated(found: Log) -> list[str]:
    times = Counter(record.written for records in found.values() for record in records)
    return [f"{written} is there {count} times" for written, count in times.items() if count > 1][:SHOWN]


def invented(sent: Iterable[Written], found: Log) -> list[str]:
    known = set(sent)
    there = (record.written for records in found.values() for record in records)
    return [f"{written} was never sent" for written in there if written not in known][:SHOWN]


def disordered(found: Log) -> list[str]:
    """Numbers of one producer, or key, that fall within a partition; those that come again do not count."""
    broken = []
    for place, records in found.items():
        by_producer: defaultdict[str, list[int]] = defaultdict(list)
        for record in records:
            by_producer[record.written.producer].append(record.written.number)
        for producer, numbers in by_producer.items():
            firsts = list(dict.fromkeys(numbers))
            broken += [
                f"{place}: {producer} {after} comes after {before}"
                for before, after in pairwise(firsts)
                if after < before
            ]
    return broken[:SHOWN]


def at_least_once(sent: Iterable[Written], found: Log) -> list[str]:
    known = list(sent)
    return lost(known, found) + invented(known, found)


def exactly_once(sent: Iterable[Written], found: Log) -> list[str]:
    known = list(sent)
    return at_least_once(known, found) + repeated(found) + disordered(found)
