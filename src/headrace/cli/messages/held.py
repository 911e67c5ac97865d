"""The offsets that partitions of a topic hold, and those of a time: what a place in a topic is reckoned from."""

from collections.abc import Iterable
from typing import NamedTuple

from headrace.admin.admin import Admin
from headrace.admin.positions import list_offsets
from headrace.admin.topics import TopicSeen, find_topic, offset_ranges
from headrace.base.ids import TopicPartition
from headrace.cli.connection import with_admin
from headrace.cli.explain import explaining
from headrace.cli.messages.start_at import StartAt

# A leader that has moved a moment ago is looked for this long.
MOVED_SECONDS_MAX = 5.0


class HeldOffsets(NamedTuple):
    start: int | None
    end: int | None
    """None where no leader answers."""
    at_time: int | None
    """None where no message is as young as the time asked for."""


async def seen_topic(admin: Admin, name: str) -> TopicSeen:
    with explaining(topic=name):
        return await find_topic(admin, name)


def require_topic(bootstrap: str, name: str) -> None:
    with_admin(bootstrap, lambda admin: seen_topic(admin, name))


async def held_by(admin: Admin, topic: str, indexes: Iterable[int], place: StartAt) -> dict[int, HeldOffsets]:
    ids = [TopicPartition(topic, index) for index in indexes]
    ranges = await offset_ranges(admin, ids, MOVED_SECONDS_MAX)
    times: dict[TopicPartition, int] = {}
    if place.kind == "time":
        times = await list_offsets(admin, dict.fromkeys(ids, place.number), MOVED_SECONDS_MAX)
    return {id.partition: HeldOffsets(*ranges[id], times.get(id)) for id in ids}
