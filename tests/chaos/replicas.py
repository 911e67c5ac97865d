"""The files of a partition on each of its brokers, compared byte for byte after a clean stop.

Segments may begin at other offsets on a follower, which appends many batches at a time; what they hold one after the
other is the same.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from chaos.ledger import Place


def log_bytes(broker_folder: Path, place: Place) -> bytes:
    segments = sorted(partition_folder(broker_folder, place).glob("*.log"))
    return b"".join(segment.read_bytes() for segment in segments)


def partition_folder(broker_folder: Path, place: Place) -> Path:
    topic, partition = place
    return broker_folder / "logs" / f"{topic}-{partition}"


def differences(folders: Mapping[int, Path], places: Iterable[Place]) -> list[str]:
    """Each replica beside the first, in words; every broker must hold every place."""
    found = []
    for place in places:
        (first, expected), *others = ((broker, log_bytes(folder, place)) for broker, folder in folders.items())
        for broker, actual in others:
            if actual != expected:
                found.append(
                    f"{place}: broker {first} has {len(expected)} bytes, broker {broker} {len(actual)}, "
                    f"equal up to {_equal_up_to(expected, actual)}"
                )
    return found


def _equal_up_to(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
