"""A partition over a simulated disk: what is acknowledged when, what is visible to whom, and what a crash leaves."""

from random import Random

import pytest

from batches import NOW, batch, config
from headrace.base.errors import DiskFailed, DiskFull, Refused
from headrace.broker.hosting.topic_settings import log_config
from headrace.cluster.entities import PartitionState
from headrace.log.config import LogConfig
from headrace.partition.role import count_on_memory
from headrace.wire.batch import parse_header
from headrace.wire.codes import ErrorCode
from headrace.wire.records import read_records
from partition_rig import ALONE, FIRST, PATH, PartitionRig

RELAXED = {"flush_messages": 1_000_000, "flush_ms": 5_000}


class Waiter:
    def __init__(self) -> None:
        self.told: list[object] = []

    def is_waiting(self, part: object) -> bool:
        return True

    def on_reached(self, part: object) -> None:
        self.told.append("reached")

    def on_lost(self, part: object, code: int) -> None:
        self.told.append(code)


def values_in(rig: PartitionRig) -> list[bytes]:
    """All that a consumer may see."""
    values: list[bytes] = []
    offset = rig.partition.log.start_offset
    while (found := rig.partition.reads.read(offset, 1 << 20, at_least_one=True)) is not None:
        content = found.read()
        found.release()
        position = 0
        while position < len(content):
            header = parse_header(content, position)
            values += [record.value for record in read_records(content[position : position + header.size])]
            position += header.size
        offset = header.next_offset
    return values


def test_a_batch_gets_the_next_offset_and_the_leaders_epoch() -> None:
    rig = PartitionRig()
    assert rig.append(batch(b"a", b"b")).base_offset == 0
    assert rig.append(batch(b"c")) == (2, 3, -1)
    rig.sync()
    found = rig.partition.reads.read(2, 1000, True)
    header = parse_header(found.read())
    assert (header.base_offset, header.leader_epoch) == (2, 5)


@pytest.mark.parametrize("acks", [-1, 1])
def test_on_a_durable_topic_the_disk_comes_first(acks: int) -> None:
    rig, waiter = PartitionRig(), Waiter()
    appended = rig.append(batch(b"a"), acks)
    assert rig.partition.wait(appended.end_offset, acks, waiter, None)
    assert (rig.partition.high_watermark, waiter.told) == (0, [])
    assert rig.partition.reads.read(0, 1000, True) is None, "nobody sees what a power cut could take"
    rig.sync()
    assert (rig.partition.high_watermark, waiter.told) == (1, ["reached"])
    assert not rig.partition.wait(appended.end_offset, acks, waiter, None)


@pytest.mark.parametrize("acks", [-1, 1])
def test_on_a_relaxed_topic_the_log_is_enough(acks: int) -> None:
    rig = PartitionRig(**RELAXED)
    appended = rig.append(batch(b"a"), acks)
    assert not rig.partition.wait(appended.end_offset, acks, Waiter(), None)
    assert values_in(rig) == [b"a"]
    assert rig.partition.log.sync.synced_end == 0


def test_a_relaxed_topic_is_synced_by_count_and_by_time() -> None:
    by_count = PartitionRig(flush_messages=3)
    for _ in range(3):
        by_count.append(batch())
    by_count.sync()
    assert by_count.partition.log.sync.synced_end == 3
    by_time = PartitionRig(**RELAXED)
    by_time.append(batch())
    by_time.partition.upkeep.on_tick(NOW)
    by_time.partition.upkeep.on_tick(NOW._replace(mono=NOW.mono + 4.9))
    by_time.sync()
    assert by_time.partition.log.sync.synced_end == 0
    by_time.partition.upkeep.on_tick(NOW._replace(mono=NOW.mono + 5.0))
    by_time.sync()
    assert by_time.partition.log.sync.synced_end == 1


def test_a_resend_is_answered_like_the_original_and_no_sooner() -> None:
    rig, waiter = PartitionRig(), Waiter()
    content = batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0)
    original = rig.append(bytearray(content))
    resent = rig.append(bytearray(content))
    assert resent == original
    assert rig.partition.wait(resent.end_offset, -1, waiter, None), "the original is not on disk yet"
    rig.sync()
    assert waiter.told == ["reached"]
    assert values_in(rig) == [b"a"]


def test_a_gap_in_sequences_and_an_old_epoch_are_refused() -> None:
    rig = PartitionRig(FIRST)
    rig.append(batch(producer_id=7, producer_epoch=1, base_sequence=0))
    for epoch, sequence, code in (
        (1, 5, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (0, 1, ErrorCode.INVALID_PRODUCER_EPOCH),
    ):
        with pytest.raises(Refused) as refused:
            rig.append(batch(producer_id=7, producer_epoch=epoch, base_sequence=sequence))
        assert refused.value.code == code


def test_append_time_is_stamped_and_the_checksum_made_anew() -> None:
    rig = PartitionRig(message_timestamp_type="LogAppendTime")
    assert rig.append(batch(timestamp=5)).log_append_time == NOW.wall
    rig.sync()
    (record,) = read_records(rig.partition.reads.read(0, 1000, True).read())
    assert record.timestamp == NOW.wall


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (PartitionState((1, 2), (1, 2), 2, 6), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (PartitionState((1,), (1,), -1, 6), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (PartitionState((1,), (1,), -1, 6, damaged=(1,)), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
    ids=["another leads", "nobody leads", "damaged"],
)
def test_who_does_not_lead_takes_nothing(state: PartitionState, code: int) -> None:
    rig = PartitionRig(state)
    with pytest.raises(Refused) as refused:
        rig.append(batch())
    assert refused.value.code == code
    with pytest.raises(Refused) as refused:
        rig.partition.check_leader()
    assert refused.value.code == code


def test_losing_leadership_tells_everyone_who_waits() -> None:
    rig, all_waiter, one_waiter = PartitionRig(), Waiter(), Waiter()
    end_offset = rig.append(batch()).end_offset
    rig.partition.wait(end_offset, -1, all_waiter, None)
    rig.partition.wait(end_offset, 1, one_waiter, None)
    rig.partition.on_state(PartitionState((1, 2), (2,), 2, 6), NOW)
    rig.sync()
    lost = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert (all_waiter.told, one_waiter.told) == (lost, lost)


def test_the_epoch_a_client_believes_in() -> None:
    partition = PartitionRig().partition
    partition.check_leader(5)
    partition.check_leader(-1)
    for epoch, code in ((4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(Refused) as refused:
            partition.check_leader(epoch)
        assert refused.value.code == code


def test_a_full_disk_refuses_the_write_and_leaves_the_log_as_it_was() -> None:
    rig = PartitionRig()
    rig.append(batch(b"before"))
    rig.machine.capacity_bytes = rig.machine.used_bytes() + 10
    with pytest.raises(DiskFull):
        rig.append(batch(b"no room"))
    rig.machine.capacity_bytes = None
    assert rig.append(batch(b"after")).base_offset == 1
    rig.sync()
    assert values_in(rig) == [b"before", b"after"]


def test_a_failed_sync_acknowledges_nothing() -> None:
    rig, waiter = PartitionRig(), Waiter()
    rig.machine.fail_syncs.append(PATH)
    rig.partition.wait(rig.append(batch()).end_offset, -1, waiter, None)
    rig.sync()
    assert [type(failure) for failure in rig.failures] == [DiskFailed]
    assert (waiter.told, rig.partition.high_watermark) == ([], 0)


def test_readers_stay_between_start_and_high_watermark() -> None:
    rig = PartitionRig()
    for value in (b"0", b"1", b"2"):
        rig.append(batch(value))
    rig.sync()
    assert rig.partition.upkeep.delete_records(1) == 1
    for offset in (0, -1, 4):
        with pytest.raises(Refused) as refused:
            rig.partition.reads.read(offset, 1000, True)
        assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert rig.partition.reads.read(3, 1000, True) is None
    assert values_in(rig) == [b"1", b"2"]
    assert rig.partition.upkeep.delete_records(-1) == 3
    for offset in (4, -2):
        with pytest.raises(Refused):
            rig.partition.upkeep.delete_records(offset)


def test_a_topic_that_becomes_durable_owes_a_sync() -> None:
    rig = PartitionRig(**RELAXED)
    rig.append(batch())
    durable = config()
    rig.partition.on_config(durable, log_config(durable, LogConfig()))
    rig.sync()
    assert rig.partition.log.sync.synced_end == 1


def test_a_topic_that_is_made_relaxed_is_durable_until_that_is_written_down() -> None:
    rig, waiter = PartitionRig(), Waiter()
    relaxed = config(**RELAXED)
    rig.partition.on_config(relaxed, log_config(relaxed, LogConfig()))
    rig.append(batch())
    assert rig.partition.proven_end == 0
    assert rig.partition.wait(1, 1, waiter, "part")
    count_on_memory(rig.partition)
    assert rig.partition.proven_end == 1
    durable = config()
    rig.partition.on_config(durable, log_config(durable, LogConfig()))
    count_on_memory(rig.partition)
    assert rig.partition.proven_end == 0


@pytest.mark.parametrize("seed", range(30))
def test_what_was_acknowledged_survives_a_power_cut(seed: int) -> None:
    rng = Random(seed)
    rig, waiter = PartitionRig(segment_bytes=1 << 20), Waiter()
    acknowledged: list[bytes] = []
    for number in range(rng.randint(1, 20)):
        value = b"%d " % number + rng.randbytes(rng.choice((10, 2000)))
        end_offset = rig.append(batch(value)).end_offset
        if rng.random() < 0.5:
            rig.partition.wait(end_offset, -1, waiter, None)
            rig.sync()
            acknowledged = values_in(rig)
    rig.machine.crash(rng)
    again = PartitionRig(ALONE, rig.machine)
    assert values_in(again)[: len(acknowledged)] == acknowledged
    assert waiter.told == ["reached"] * len(waiter.told)


def test_a_new_leader_that_does_not_know_what_is_committed_says_so_when_asked_by_time() -> None:
    rig = PartitionRig(PartitionState((1, 2), (1, 2), 1, 5), min_insync_replicas=1)
    rig.append(batch())
    rig.sync()
    # Its own write of this epoch is not committed, and nobody can have read it.
    assert rig.partition.reads.find_by_time(0) == (-1, -1)
    rig.partition.on_state(PartitionState((1, 2), (1, 2), 1, 6), NOW)
    with pytest.raises(Refused) as refused:
        rig.partition.reads.find_by_time(0)
    assert refused.value.code == ErrorCode.OFFSET_NOT_AVAILABLE
    rig.partition.in_sync.on_follower_fetch(2, 1, 1, NOW)
    assert rig.partition.reads.find_by_time(0)[1] == 0
