"""What administrators do to topics while all else happens, and what time does to their files.

pass_topic         a topic is made, grown, deleted, or deleted and made again at once under its name
limit_size         the topic keeps so many bytes from now on (the invariant "retained" holds it to that)
toggle_flush       the topic is made relaxed, or durable again
limit_time         the topic keeps some seconds from now on, by the clock of whoever leads
rot_anywhere       a bit flips in any segment of any topic, internal ones too, in what others have as well
cut_power_relaxed  one machine of a relaxed topic loses its page cache while all others are in sync
"""

from random import Random
from typing import TYPE_CHECKING

from headrace.wire.batch import iter_headers
from headrace.wire.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from headrace.wire.messages.topics import CreatePartitionsRequest, CreatePartitionsTopic, DeleteTopicsRequest
from sim.clients import Directory, ask_once, create_topic
from sim.disk import SimDisk

if TYPE_CHECKING:
    from sim.faults import Faults

ORDERS = "orders"
TOPIC_RESOURCE, SET = 2, 0
DELETE_TOPICS, CREATE_PARTITIONS, ALTER_CONFIGS = 4, 2, 1
NAMES = ("passing", "fleeting")
PARTITIONS_MAX = 6
KEPT_BYTES = (5_000, 20_000)
DURABLE, RELAXED = "1", str(1 << 40)
KEPT_MS = (1000, 4000)


def pass_topic(faults: "Faults") -> None:
    name = faults.rng.choice(NAMES)
    topic = faults.checks.image().topics.get(name)
    factor = min(3, len(faults.world.hosts))
    if topic is None:
        faults.world.say("admin", f"creates {name}")
        faults.administer(lambda directory: create_topic(directory, name, 2, factor, {}))
    elif faults.rng.random() < 0.5 and len(topic.partitions) < PARTITIONS_MAX:
        count = len(topic.partitions) + faults.rng.choice((1, 2))
        grown = CreatePartitionsRequest([CreatePartitionsTopic(name, count, None)], 3000)
        faults.world.say("admin", f"grows {name} to {count}")
        faults.administer(lambda directory: ask_once(directory, grown, CREATE_PARTITIONS))
    else:
        is_remade = faults.rng.random() < 0.5
        faults.world.say("admin", f"deletes {name}{' and makes it again' if is_remade else ''}")
        faults.administer(lambda directory: delete_topic(directory, name, factor if is_remade else 0))


async def delete_topic(directory: Directory, name: str, next_factor: int) -> None:
    """And makes another of this name at once, with so many replicas, unless that is none."""
    await ask_once(directory, DeleteTopicsRequest(topic_names=[name], timeout_ms=3000), DELETE_TOPICS)
    if next_factor:
        await create_topic(directory, name, 2, next_factor, {})


def limit_size(faults: "Faults") -> None:
    """Written down before it is asked for: whether it comes to pass nobody knows."""
    kept = faults.rng.choice(KEPT_BYTES)
    least = min(kept, faults.checks.kept_bytes.get(ORDERS, kept))
    faults.checks.kept_bytes[ORDERS] = least
    _alter(faults, "retention.bytes", kept)


def limit_time(faults: "Faults") -> None:
    faults.checks.kept_bytes[ORDERS] = 0
    _alter(faults, "retention.ms", faults.rng.choice(KEPT_MS))


def toggle_flush(faults: "Faults") -> None:
    topic = faults.image().topics.get(ORDERS)
    if topic is not None:
        is_durable = topic.config.get("flush.messages", DURABLE) == DURABLE
        _alter(faults, "flush.messages", int(RELAXED if is_durable else DURABLE))


def _alter(faults: "Faults", name: str, value: int) -> None:
    faults.world.say("admin", f"sets {name}={value} on {ORDERS}")
    change = [IncrementalAlterableConfig(name, SET, str(value))]
    request = IncrementalAlterConfigsRequest([IncrementalAlterConfigsResource(TOPIC_RESOURCE, ORDERS, change)])
    faults.administer(lambda directory: ask_once(directory, request, ALTER_CONFIGS))


def cut_power_relaxed(faults: "Faults") -> None:
    """With everybody in sync another has whatever is lost here. More than one at a time is not promised."""
    if len(faults.world.hosts) > 1 and faults.are_all_in_sync():
        faults.take_down(faults.leader_host(), power=True)


def rot_anywhere(faults: "Faults") -> None:
    """One replica in a storm: a person who mends rot deletes the directory, and others must have what was in it."""
    host = faults.any_host()
    if len(faults.world.hosts) > 1 and not faults.checks.rotten and faults.are_all_in_sync():
        found = _flip(host.disk, "/data/logs", faults.rng)
        if found is not None:
            faults.take_down(host, power=False)
            faults.checks.rotten[host.id, found[0]] = faults.to_replace[host.id, found[0]] = None
            faults.world.say(host.name, f"rots: {found[0]}/{found[1]} at {found[2]}")


def _flip(disk: SimDisk, path: str, rng: Random) -> tuple[str, str, int] | None:
    """Not in the last batch of a log: there it would look like the torn end of a write."""
    names = sorted(disk.directory(path).entries)
    if not names:
        return None
    name = rng.choice(names)
    logs = [each for each in sorted(disk.directory(f"{path}/{name}").entries) if each.endswith(".log")]
    if not logs or name.endswith((".deleted", ".stray")):
        return None
    file = rng.choice(logs)
    content = bytes(disk.file(f"{path}/{name}/{file}").content)
    starts = [position for position, _ in iter_headers(content)]
    end = starts[-1] if file == logs[-1] and starts else len(content)
    if len(starts) < 2:
        return None
    position = rng.randrange(end)
    disk.flip_bit(f"{path}/{name}/{file}", position, rng.randrange(8))
    return name, file, position


def replace_rotten(faults: "Faults") -> bool:
    """As docs/guarantees.md says: the partition's directory is deleted while its broker is stopped. Whether all of them are:
    the last in sync, which may have mended itself long ago, waits for another."""
    for host_id, name in list(faults.to_replace):
        if _is_in_sync_elsewhere(faults, host_id, name):
            del faults.to_replace[host_id, name]
            host = faults.world.hosts[host_id - 1]
            host.kill()
            if host.disk.node(f"/data/logs/{name}") is not None:
                host.disk.mount().remove_tree(f"/data/logs/{name}")
            faults.world.say(host.name, f"has its {name} deleted")
            faults.world.start(host)
    return not faults.to_replace


def _is_in_sync_elsewhere(faults: "Faults", host_id: int, name: str) -> bool:
    topic, _, index = name.rpartition("-")
    state = faults.image().partition(topic, int(index))
    return state is None or state.isr != (host_id,)
