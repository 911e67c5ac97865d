import asyncio

import pytest

from headrace.broker.membership import image_turns
from headrace.broker.membership.image_turns import image_of
from headrace.cluster.entities import PartitionState
from headrace.cluster.image import Image
from headrace.cluster.records import TopicRecord, encode, partition_key, topic_key
from headrace.cluster.store import Entry, Snapshot
from quiet_loop import QuietLoop

TOPICS, PARTITIONS = 10, 7
MANY = 1000


def snapshot() -> Snapshot:
    entries = {}
    for number in range(TOPICS):
        topic_id = number.to_bytes(16, "big")
        entries[topic_key(f"topic-{number}")] = encode(TopicRecord(topic_id, PARTITIONS, {}))
        entries |= {partition_key(topic_id, each): encode(PartitionState((1,), (1,), 1)) for each in range(PARTITIONS)}
    return Snapshot(9, {key: Entry(value, 9) for key, value in sorted(entries.items())})


def test_an_image_made_in_turns_is_the_same_and_others_have_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_turns, "CHANGES_PER_TURN", 8)
    loop, taken = QuietLoop(), []

    async def take_turns() -> None:
        for _ in range(MANY):
            taken.append(1)
            await asyncio.sleep(0)

    async def make() -> tuple[Image, int]:
        return await image_of(snapshot()), len(taken)

    loop.create_task(take_turns())
    image, turns = loop.run(make())
    assert image == Image().apply(snapshot().changes(), 9)
    assert len(image.topics) == TOPICS
    assert turns >= TOPICS


def test_an_empty_store_has_an_image_too() -> None:
    assert QuietLoop().run(image_of(Snapshot(3, {}))) == Image(revision=3)
