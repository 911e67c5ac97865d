"""The live end of a topic as listeners see it: who is where, what is shared, and what is dropped."""

import json
import tracemalloc
from urllib.parse import quote

import pytest

from headrace.client.cluster_client import Fetched
from headrace.gateway.protocol import HEAD_BYTES_MAX
from headrace.gateway.push.block import Block, Event, Gap
from headrace.gateway.push.feed import BLOCK_BYTES_MAX, UNUSED_SECONDS_MAX, Feed
from headrace.gateway.push.kept_blocks import KeptBlocks
from headrace.gateway.push.positions import ID_CHARACTERS_MAX, PARTITIONS_MAX, format_positions, parse_positions
from headrace.gateway.push.reading import EventReading
from headrace.wire.compression import CODEC_NAMES
from headrace.wire.records import Record, build_batch


def event(partition: int, offset: int, value: bytes = b"v") -> Event:
    return Event(partition, Record(offset, 0, None, value))


def feed_at(**positions: int) -> Feed:
    feed = Feed("t", now=0.0)
    feed.add({int(name[1:]): offset for name, offset in positions.items()})
    feed.begin(feed.positions)
    return feed


class Sleeper:
    woken = 0

    def wake(self) -> None:
        self.woken += 1


def test_ids_are_read_back() -> None:
    assert parse_positions(format_positions({0: 17, 5: 0})) == {0: 17, 5: 0}


@pytest.mark.parametrize(
    "text", ["", "x", "0", "0:", ":1", "0:1,", "0:1,0:2", "-1:0", "0:-1", "0:1:2", "0: 1", "0:²", f"0:{2**63}"]
)
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(ValueError):
        parse_positions(text)


def test_the_longest_id_fits_into_the_head_of_a_request() -> None:
    longest = format_positions(dict.fromkeys(range(10000 - PARTITIONS_MAX, 10000), 2**63 - 1))
    assert len(longest) <= ID_CHARACTERS_MAX
    assert len(quote(longest, safe="")) < HEAD_BYTES_MAX - 4096
    assert len(parse_positions(longest)) == PARTITIONS_MAX


def test_blocks_carry_the_whole_position() -> None:
    feed = feed_at(p0=5, p1=7)
    (block,) = feed.append([event(0, 5), event(1, 7), event(0, 6)])
    lines = block.as_text("auto").decode().split("\n\n")
    assert [line.split("\n")[0] for line in lines[:-1]] == ["id: 0:6,1:7", "id: 0:6,1:8", "id: 0:7,1:8"]
    assert [json.loads(frame)["id"] for frame in block.as_frames("auto")] == ["0:6,1:7", "0:6,1:8", "0:7,1:8"]
    assert block.as_text("auto") is block.as_text("auto")
    assert (block.before, block.after) == ({0: 5, 1: 7}, {0: 7, 1: 8})


def test_what_was_seen_before_is_not_taken_again() -> None:
    feed = feed_at(p0=5)
    feed.append([event(0, 5)])
    assert feed.append([event(0, 4), event(0, 5)]) == []
    (block,) = feed.append([event(0, 5), event(0, 9)])
    assert [each.record.offset for each in block.events] == [9]


def test_records_of_an_earlier_reading_are_not_taken() -> None:
    feed = Feed("t", now=0.0)
    feed.add({0: 5})
    assert feed.append([event(0, 8)]) == []
    feed.begin([0])
    assert feed.append([event(0, 5)])
    assert feed.append([event(1, 0)]) == []


def test_who_is_covered() -> None:
    feed = feed_at(p0=5, p1=5)
    assert feed.covers({0: 5, 1: 5})
    assert feed.covers({0: 9})
    assert not feed.covers({0: 4, 1: 5})
    assert not feed.covers({2: 0})
    feed.append([event(0, 5)])
    feed.append([event(1, 5)])
    assert feed.covers({0: 5, 1: 5})
    feed.drop_oldest()
    assert not feed.covers({0: 5, 1: 5})
    assert feed.covers({0: 6, 1: 5})


def test_where_a_listener_joins() -> None:
    feed = feed_at(p0=0, p1=0)
    for each in (event(0, 0), event(1, 0), event(0, 1)):
        feed.append([each])
    assert feed.number_at({0: 0, 1: 0}) == 0
    assert feed.number_at({0: 1, 1: 0}) == 1
    assert feed.number_at({0: 1, 1: 1}) == 2
    assert feed.number_at({1: 1}) == 3
    assert feed.number_at({0: 2, 1: 1}) == 3
    assert feed.number_at({0: 9, 1: 9}) == 3


def test_who_is_too_slow_is_lost() -> None:
    feed = feed_at(p0=0)
    feed.append([event(0, 0)])
    feed.append([event(0, 1)])
    assert feed.has(0) and feed.has(1) and not feed.has(2)
    assert not feed.is_lost(0)
    feed.drop_oldest()
    assert feed.is_lost(0) and not feed.is_lost(1)
    assert feed.block(1).events[0].record.offset == 1
    feed.close()
    assert feed.is_lost(2)


def test_large_batches_are_cut_into_blocks() -> None:
    feed = feed_at(p0=0)
    blocks = feed.append([event(0, offset, b"x" * 10_000) for offset in range(100)])
    assert len(blocks) > 10
    assert all(block.size < 2 * BLOCK_BYTES_MAX for block in blocks)
    assert [each.record.offset for block in blocks for each in block.events] == list(range(100))


def test_the_id_of_each_event_counts_for_a_block() -> None:
    """With many partitions it is most of what is sent."""
    feed = feed_at(**{f"p{partition}": 10**6 for partition in range(1000)})
    blocks = feed.append([event(0, 10**6 + number) for number in range(100)])
    assert all(len(block.as_text("auto")) < 2 * BLOCK_BYTES_MAX for block in blocks)


@pytest.mark.parametrize("partitions", [1, 1000])
@pytest.mark.parametrize("headers", [0, 3])
def test_what_is_kept_is_counted_as_it_is(partitions: int, headers: int) -> None:
    """Renderings, headers, positions and all."""
    feed, kept = feed_at(**{f"p{partition}": 10**6 for partition in range(partitions)}), KeptBlocks(1 << 40)
    tracemalloc.start()
    try:
        for offset in range(10**6, 10**6 + 100):
            named = [(f"header {offset} {number}", b"%d" % offset) for number in range(headers)]
            record = Record(offset, offset * 1000, b"%d" % offset, b"%0100d" % offset, named)
            for block in feed.append([Event(0, record)]):
                kept.add(feed, block)
                block.as_text("auto")
                block.as_frames("auto")
                block.as_frames("base64")
        really, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.75 * really < kept.bytes < 1.25 * really


def test_renderings_drop_the_oldest() -> None:
    feed, kept = feed_at(p0=0), KeptBlocks(22_000)
    for offset in range(10):
        for block in feed.append([event(0, offset, b"x" * 1000)]):
            kept.add(feed, block)
    assert not feed.is_lost(0)
    for number in range(10):
        feed.block(number).as_text("auto")
    assert kept.bytes <= 22_000
    assert feed.is_lost(0) and not feed.is_lost(9)


def test_a_feed_that_is_forgotten_counts_no_more() -> None:
    kept, feeds = KeptBlocks(1 << 20), [feed_at(p0=0), feed_at(p0=0)]
    for feed in feeds:
        for block in feed.append([event(0, 0, b"x" * 1000)]):
            kept.add(feed, block)
    both, block = kept.bytes, feeds[0].block(0)
    kept.forget(feeds[0])
    assert kept.bytes == both // 2
    block.as_text("auto")
    assert kept.bytes == both // 2
    kept.forget(feeds[1])
    assert kept.bytes == 0


def test_a_batch_is_taken_a_block_at_a_time() -> None:
    """However much it unpacks to."""
    records = [Record(offset, 0, None, b"x" * 1000) for offset in range(5000)]
    batch = build_batch(records, codec=CODEC_NAMES.index("gzip"))
    reading = EventReading(0, Fetched(memoryview(batch), 5000, 5000, 0, (), 5000), 10, id_bytes=10)
    seen: list[int] = []
    while part := reading.take():
        assert sum(each.size for each in part) < 2 * BLOCK_BYTES_MAX
        seen += [each.record.offset for each in part]
        assert reading.next_offset == seen[-1] + 1
        assert reading.is_over == (seen[-1] == 4999)
    assert seen == list(range(10, 5000))


def test_waiting_listeners_are_woken_once() -> None:
    feed, sleeper = feed_at(p0=0), Sleeper()
    feed.wait(sleeper)
    feed.append([event(0, 0)])
    feed.append([event(0, 1)])
    assert sleeper.woken == 1
    feed.wait(sleeper)
    feed.close()
    assert sleeper.woken == 2


def test_a_feed_without_listeners_is_unused() -> None:
    feed = feed_at(p0=0)
    assert not feed.is_unused(UNUSED_SECONDS_MAX)
    assert feed.is_unused(UNUSED_SECONDS_MAX + 1)
    feed.wait(Sleeper())
    assert not feed.is_unused(UNUSED_SECONDS_MAX + 1)


def test_a_gap_is_told() -> None:
    block = Block({0: 3}, [event(0, 10)], {0: 11}, [Gap(0, 3, 10)])
    gap, message = block.as_text("auto").decode().split("\n\n")[:2]
    assert gap.split("\n") == ["id: 0:10", "event: gap", 'data: {"partition":0,"first_offset":3,"next_offset":10}']
    assert message.startswith("id: 0:11\ndata: ")
    assert json.loads(block.as_frames("auto")[0])["event"] == "gap"
