"""Surgery on the files of a broker that is not running: what bad disks, bad tools and bad luck leave behind."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from chaos.ledger import Place
from chaos.replicas import partition_folder

Damage = Callable[[Path, Place, random.Random], None]

# Whose directory it is, and whose partition: without them a broker refuses to guess, which is for another test.
_NAMES = ("broker", "topic.id")


def flip_a_bit(broker_folder: Path, place: Place, rng: random.Random) -> None:
    """In the midst of the newest segment, with sound batches before and after it."""
    segment = _newest_segment(broker_folder, place)
    _flip(segment, rng, 0.1, 0.6)


def cut_the_log(broker_folder: Path, place: Place, rng: random.Random) -> None:
    """Much more than a crash could have torn off."""
    segment = _newest_segment(broker_folder, place)
    with open(segment, "r+b") as file:
        file.truncate(int(segment.stat().st_size * rng.uniform(0.0, 0.05)))


def remove_the_log(broker_folder: Path, place: Place, rng: random.Random) -> None:
    shutil.rmtree(partition_folder(broker_folder, place))


def spoil_the_caches(broker_folder: Path, place: Place, rng: random.Random) -> None:
    """Indexes, snapshots and checkpoints: everything that can be made anew from the log."""
    caches = [path for path in broker_folder.iterdir() if path.is_file() and path.stat().st_size]
    caches += [path for path in partition_folder(broker_folder, place).iterdir() if path.suffix != ".log"]
    for path in caches:
        if path.name not in _NAMES and path.stat().st_size:
            _flip(path, rng, 0.0, 1.0)


DAMAGES: tuple[Damage, ...] = (flip_a_bit, cut_the_log, remove_the_log, spoil_the_caches)


def _newest_segment(broker_folder: Path, place: Place) -> Path:
    return max(partition_folder(broker_folder, place).glob("*.log"))


def _flip(path: Path, rng: random.Random, least: float, most: float) -> None:
    content = bytearray(path.read_bytes())
    position = min(len(content) - 1, int(len(content) * rng.uniform(least, most)))
    content[position] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
