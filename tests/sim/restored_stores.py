"""A fault of the store itself: all brokers die, and start on an older copy of it.

docs/guarantees.md says what is not promised then, and none of that is asked for here: a copy counts only while the same
topics have the same replicas, all of them in sync now and none of them known to be damaged then, and while every broker
has written down that it has seen more.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.cluster.entities import PartitionState
from headrace.cluster.image import Image
from headrace.cluster.store import Entry

if TYPE_CHECKING:
    from sim.faults import Faults
    from sim.host import Host

DOWN_SECONDS: Final = (0.1, 3.0)
_REVISION: Final = re.compile(rb" (\d+)\n$")

Place = tuple[str, bytes, int]


class StoreCopy(NamedTuple):
    revision: int
    entries: Mapping[str, Entry]
    image: Image


def copy_store(faults: "Faults") -> None:
    shelf = faults.world.shelf
    faults.store_copy = StoreCopy(shelf.revision, dict(shelf.entries), faults.image())


def restore_store(faults: "Faults") -> None:
    """Or make another copy, if the one there is can never count again."""
    copy, world = faults.store_copy, faults.world
    if copy is None or not _is_fit(faults, copy):
        copy_store(faults)
    elif faults.are_all_in_sync() and all(_seen_revision(host) > copy.revision for host in world.hosts):
        for host in world.hosts:
            world.kill(host)
            world.agenda.after(faults.rng.uniform(*DOWN_SECONDS), world.start, host)
        world.say("store", f"is restored: from revision {world.shelf.revision} back to {copy.revision}")
        world.restore_store(copy.revision, copy.entries)
        faults.checks.on_restored()
        faults.store_copy = None


def _is_fit(faults: "Faults", copy: StoreCopy) -> bool:
    then, now = dict(_states(copy.image)), dict(_states(faults.image()))
    return then.keys() == now.keys() and all(_is_sound(then[place], state) for place, state in now.items())


def _states(image: Image) -> Iterator[tuple[Place, PartitionState]]:
    for topic in image.topics.values():
        for index, state in enumerate(topic.partitions):
            yield (topic.name, topic.id, index), state


def _is_sound(then: PartitionState, now: PartitionState) -> bool:
    moves = (then.adding, then.removing, now.adding, now.removing)
    return sorted(then.replicas) == sorted(now.replicas) and not then.damaged and not any(moves)


def _seen_revision(host: "Host") -> int:
    if host.disk.node("/data/metadata-revision") is None:
        return -1
    found = _REVISION.search(bytes(host.disk.file("/data/metadata-revision").content))
    return -1 if found is None else int(found[1])
