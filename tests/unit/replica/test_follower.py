"""The batches that a follower takes of an answer, and where it cuts when its history and its leader's part."""

import pytest

from headrace.replica.follower import base_around, cut_for, sound_batches
from headrace.wire.records import Record, build_batch

EPOCH = 5


def made(base_offset: int, epoch: int = EPOCH) -> bytes:
    """A batch of two records."""
    records = [Record(timestamp=1, value=b"a"), Record(timestamp=1, value=b"b")]
    return build_batch(records, base_offset=base_offset, leader_epoch=epoch)


def taken(*batches: bytes, expected_offset: int = 10, own_epoch: int = -1) -> list[int]:
    end, headers = sound_batches(b"".join(batches), expected_offset, own_epoch, EPOCH)
    assert end == sum(len(batch) for batch in batches[: len(headers)])
    return [header.base_offset for header in headers]


def test_whole_batches_that_go_on_are_taken() -> None:
    assert taken(made(10), made(12)) == [10, 12]


def test_a_gap_that_compaction_left_is_none() -> None:
    assert taken(made(10), made(20)) == [10, 20]


def test_a_batch_that_the_answer_cuts_off_is_not_taken() -> None:
    first, second = made(10), made(12)
    end, headers = sound_batches(first + second[:-1], 10, EPOCH, EPOCH)
    assert (end, len(headers)) == (len(first), 1)


@pytest.mark.parametrize("position", [40, -1])
def test_a_batch_whose_checksum_does_not_fit_is_not_taken(position: int) -> None:
    rotten = bytearray(made(12))
    rotten[position] ^= 1
    assert taken(made(10), bytes(rotten), made(14)) == [10]


def test_a_batch_below_the_end_is_not_taken() -> None:
    assert taken(made(9)) == []
    assert taken(made(10), made(11)) == [10]


def test_a_batch_of_a_later_epoch_is_not_taken() -> None:
    assert taken(made(10, EPOCH - 1), made(12), made(14, EPOCH + 1)) == [10, 12]


def test_a_batch_of_an_earlier_epoch_than_our_log_has_is_not_taken() -> None:
    assert taken(made(10, EPOCH - 1), own_epoch=EPOCH) == []
    assert taken(made(10), made(12, EPOCH - 1), own_epoch=EPOCH - 1) == [10]


def test_the_cut_is_at_the_last_point_that_both_have() -> None:
    assert cut_for(leader_epoch=4, leader_end=30, own_epoch=4, own_end=40, high_watermark=20) == 30
    assert cut_for(leader_epoch=4, leader_end=40, own_epoch=3, own_end=30, high_watermark=20) == 30


def test_where_the_leader_knows_no_epoch_of_ours_only_what_is_committed_stays() -> None:
    assert cut_for(leader_epoch=-1, leader_end=-1, own_epoch=3, own_end=30, high_watermark=20) == 20


def test_where_we_know_no_epoch_of_the_leaders_all_after_it_goes() -> None:
    assert cut_for(leader_epoch=4, leader_end=25, own_epoch=-1, own_end=-1, high_watermark=20) == 25


def test_the_batch_around_an_offset() -> None:
    batch = made(10)
    assert base_around(batch, 11) == 10
    assert base_around(batch, 10) is None
    assert base_around(batch, 12) is None
