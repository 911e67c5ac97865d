"""A partition and transactions: which first write is let in, which marker ends what, and what a reader may see."""

import pytest

from batches import NOW, batch
from headrace.base.errors import Refused
from headrace.cluster.entities import PartitionState
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Marker
from partition_rig import ALONE, PartitionRig

PRODUCER = 7
COMMIT, ABORT = Marker(True, 3), Marker(False, 3)


def data(epoch: int = 0, sequence: int = 0) -> bytearray:
    return batch(producer_id=PRODUCER, producer_epoch=epoch, base_sequence=sequence, transactional=True)


def write(rig: PartitionRig, epoch: int = 0, sequence: int = 0, *, verified: bool = False) -> None:
    verification = rig.partition.verifications.begin(PRODUCER, epoch) if verified else None
    rig.partition.appends.append(memoryview(data(epoch, sequence)), -1, 9, NOW, verification)


def end(rig: PartitionRig, marker: Marker, epoch: int = 0, version: int = 1) -> int:
    return rig.partition.appends.append_marker(marker, PRODUCER, epoch, version, NOW)


def code_of(work) -> ErrorCode:
    with pytest.raises(Refused) as caught:
        work()
    return ErrorCode(caught.value.code)


def test_the_first_write_needs_a_verification_and_later_ones_do_not() -> None:
    rig = PartitionRig()
    assert code_of(lambda: write(rig)) is ErrorCode.INVALID_TXN_STATE
    write(rig, verified=True)
    write(rig, sequence=1)
    assert rig.partition.verifications.is_in_transaction(PRODUCER, 0)
    assert rig.partition.log.end_offset == 2


def test_a_marker_makes_a_verification_void() -> None:
    rig = PartitionRig()
    verification = rig.partition.verifications.begin(PRODUCER, 0)
    end(rig, ABORT)
    late = memoryview(data())
    assert (
        code_of(lambda: rig.partition.appends.append(late, -1, 9, NOW, verification)) is ErrorCode.NOT_ENOUGH_REPLICAS
    )
    assert rig.partition.log.state.transactions.open.get(PRODUCER) is None


def test_a_marker_that_carries_the_epoch_of_the_next_transaction_leaves_its_verification() -> None:
    rig = PartitionRig()
    write(rig, verified=True)
    verification = rig.partition.verifications.begin(PRODUCER, 1)
    end(rig, COMMIT, epoch=1, version=2)
    rig.partition.appends.append(memoryview(data(epoch=1)), -1, 9, NOW, verification)
    assert rig.partition.verifications.is_in_transaction(PRODUCER, 1)


def test_a_change_of_leader_makes_a_verification_void() -> None:
    rig = PartitionRig()
    verification = rig.partition.verifications.begin(PRODUCER, 0)
    rig.partition.on_state(PartitionState((1,), (1,), 1, 6), NOW)
    late = memoryview(data())
    assert (
        code_of(lambda: rig.partition.appends.append(late, -1, 9, NOW, verification)) is ErrorCode.NOT_ENOUGH_REPLICAS
    )


def test_the_next_transaction_does_not_slip_into_one_whose_marker_is_on_its_way() -> None:
    rig = PartitionRig()
    write(rig, verified=True)
    assert not rig.partition.verifications.is_in_transaction(PRODUCER, 1)
    assert code_of(lambda: write(rig, epoch=1)) is ErrorCode.INVALID_TXN_STATE
    assert code_of(lambda: write(rig, epoch=1, verified=True)) is ErrorCode.INVALID_TXN_STATE
    end(rig, COMMIT, epoch=1, version=2)
    write(rig, epoch=1, verified=True)
    assert rig.partition.log.state.transactions.open.get(PRODUCER) == 2


def test_a_reader_of_what_is_committed_waits_for_the_marker_to_be() -> None:
    rig = PartitionRig()
    write(rig, verified=True)
    rig.sync()
    assert (rig.partition.high_watermark, rig.partition.reads.last_stable_offset) == (1, 0)
    assert rig.partition.reads.read(0, 1000, True, committed_only=True) is None
    assert rig.partition.reads.available_bytes(0, committed_only=True) == 0
    end(rig, COMMIT)
    assert rig.partition.reads.last_stable_offset == 0, "the marker is not on disk yet"
    rig.sync()
    assert (rig.partition.high_watermark, rig.partition.reads.last_stable_offset) == (2, 2)
    found = rig.partition.reads.read(0, 1000, True, committed_only=True)
    assert found is not None
    assert found.next_offset == 2


def test_a_marker_of_an_older_producer_or_coordinator_is_refused() -> None:
    rig = PartitionRig()
    write(rig, epoch=2, verified=True)
    assert code_of(lambda: end(rig, ABORT, epoch=1)) is ErrorCode.INVALID_PRODUCER_EPOCH
    end(rig, Marker(True, 5), epoch=2)
    write(rig, epoch=2, sequence=1, verified=True)
    assert code_of(lambda: end(rig, Marker(True, 4), epoch=2)) is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_late_copy_of_a_marker_cannot_end_the_next_transaction() -> None:
    rig = PartitionRig()
    write(rig, verified=True)
    end(rig, COMMIT, epoch=1, version=2)
    write(rig, epoch=1, verified=True)
    assert code_of(lambda: end(rig, COMMIT, epoch=1, version=2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert rig.partition.verifications.is_in_transaction(PRODUCER, 1)


def test_a_repeated_marker_is_written_once_and_waits_like_the_first() -> None:
    rig = PartitionRig()
    write(rig, verified=True)
    first = end(rig, COMMIT, epoch=1, version=2)
    assert end(rig, COMMIT, epoch=1, version=2) == first
    assert rig.partition.log.end_offset == 2


def test_a_marker_where_nothing_was_written_still_fences() -> None:
    rig = PartitionRig()
    end(rig, ABORT, epoch=4)
    assert code_of(lambda: write(rig, epoch=3, verified=True)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_only_a_leader_with_enough_replicas_takes_a_marker() -> None:
    rig = PartitionRig(PartitionState((1, 2), (1, 2), 2, 5))
    assert code_of(lambda: end(rig, ABORT)) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    few = PartitionRig(PartitionState((1, 2), (1,), 1, 5), min_insync_replicas=2)
    assert code_of(lambda: end(few, ABORT)) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert ALONE.leader == 1


def test_a_plain_batch_of_a_producer_in_a_transaction_is_refused() -> None:
    rig = PartitionRig()
    write(rig, verified=True)
    plain = memoryview(batch(producer_id=PRODUCER, producer_epoch=0, base_sequence=1))
    assert code_of(lambda: rig.partition.appends.append(plain, -1, 9, NOW)) is ErrorCode.INVALID_TXN_STATE
