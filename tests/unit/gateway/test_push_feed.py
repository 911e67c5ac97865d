"""The live end of a topic as listeners see it: who is where, what is shared, and what is dropped."""

import json

import pytest

from headrace.gateway.push.block import Block, Event, Gap
from headrace.gateway.push.feed import BLOCK_BYTES_MAX, SECONDS_MAX, UNUSED_SECONDS_MAX, Feed
from headrace.gateway.push.positions import format_positions, parse_positions
from headrace.wire.records import Record


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


def test_waiting_listeners_are_woken_once() -> None:
    feed, sleeper = feed_at(p0=0), Sleeper()
    feed.wait(sleeper)
    feed.append([event(0, 0)])
    feed.append([event(0, 1)])
    assert sleeper.woken == 1
    feed.wait(sleeper)
    feed.close()
    assert sleeper.woken == 2


def test_a_feed_without_listeners_and_an_old_one_are_stale() -> None:
    feed = feed_at(p0=0)
    assert not feed.is_stale(UNUSED_SECONDS_MAX)
    assert feed.is_stale(UNUSED_SECONDS_MAX + 1)
    used = feed_at(p0=0)
    used.wait(Sleeper())
    assert not used.is_stale(UNUSED_SECONDS_MAX + 1)
    assert used.is_stale(SECONDS_MAX + 1)


def test_a_gap_is_told() -> None:
    block = Block({0: 3}, [event(0, 10)], {0: 11}, [Gap(0, 3, 10)])
    gap, message = block.as_text("auto").decode().split("\n\n")[:2]
    assert gap.split("\n") == ["id: 0:10", "event: gap", 'data: {"partition":0,"first_offset":3,"next_offset":10}']
    assert message.startswith("id: 0:11\ndata: ")
    assert json.loads(block.as_frames("auto")[0])["event"] == "gap"
