"""What a log remembers of producers and transactions has a bound, whatever clients do; and no clock empties it."""

import pytest
from logs import NOW, SMALL, Rig, batch, header, later, verdict

from headrace.base.clock import Now
from headrace.log import Duplicate, state
from headrace.log.producers import RESUMED_MS_MIN
from headrace.wire.batch import stamp
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Marker, Record, build_batch, build_marker

FEW = SMALL._replace(producers_max=3)
DAY_MS = 24 * 3_600_000


def in_transaction(offset: int, producer_id: int, sequence: int = 0) -> bytes:
    records = [Record(timestamp=NOW.wall, value=b"v")]
    return build_batch(
        records,
        base_offset=offset,
        leader_epoch=0,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def known(rig: Rig) -> list[int]:
    return [producer_id for producer_id, _ in rig.log.state.producers.items()]


def test_whoever_has_not_written_for_longest_is_forgotten_first() -> None:
    rig = Rig(FEW)
    for offset, producer_id in enumerate((1, 2, 3)):
        rig.append(batch(offset, producer=(producer_id, 0, 0)))
    rig.append(batch(3, producer=(1, 0, 1)))
    rig.append(batch(4, producer=(4, 0, 0)))
    assert known(rig) == [3, 1, 4]
    assert verdict(rig.log, header(batch(0, producer=(1, 0, 1)))) == Duplicate(3, 4, NOW.wall)


def test_the_order_survives_a_restart() -> None:
    rig = Rig(FEW)
    for offset, (producer_id, sequence) in enumerate([(1, 0), (2, 0), (3, 0), (1, 1)]):
        rig.append(batch(offset, producer=(producer_id, 0, sequence)))
    rig.close_clean()
    rig.open(recovery_point=4, clean=True)
    assert known(rig) == [2, 3, 1]


def test_a_producer_in_a_transaction_is_not_forgotten_for_others() -> None:
    rig = Rig(FEW)
    rig.append(in_transaction(0, 1))
    for offset in range(1, 30):
        rig.append(batch(offset, producer=(offset + 1, 0, 0)))
        assert len(known(rig)) <= 3
    assert 1 in known(rig)


def test_a_producer_that_cannot_be_remembered_is_refused_until_a_transaction_ends() -> None:
    rig = Rig(FEW)
    for offset in range(3):
        rig.append(in_transaction(offset, offset + 1))
    new = header(in_transaction(3, 9))
    assert verdict(rig.log, new) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert verdict(rig.log, header(in_transaction(3, 1, 1))) is None
    rig.append(_marker(3, 1, commit=True))
    assert verdict(rig.log, new) is None


def _marker(offset: int, producer_id: int, commit: bool) -> bytes:
    made = bytearray(build_marker(Marker(commit, 0), producer_id=producer_id, producer_epoch=0, timestamp=NOW.wall))
    stamp(made, 0, offset, 0)
    return bytes(made)


def test_a_log_full_of_aborted_transactions_takes_no_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "ABORTED_MAX", 2)
    rig = Rig()
    for producer_id in (1, 2):
        rig.append(in_transaction(rig.log.end_offset, producer_id))
        rig.append(_marker(rig.log.end_offset, producer_id, commit=False))
    new = header(in_transaction(4, 3))
    assert verdict(rig.log, new) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert verdict(rig.log, header(batch(4, producer=(3, 0, 0)))) is None
    rig.log.state.transactions.aborted.trim_start(2)
    assert verdict(rig.log, new) is None
    assert [each.producer_id for each in rig.log.state.transactions.aborted.between(0, 4)] == [2]


@pytest.mark.parametrize("days", [-400, -1, 2, 400])
def test_a_clock_that_is_set_forgets_no_producer(days: int) -> None:
    rig = Rig()
    rig.append(batch(0, producer=(7, 0, 0)))
    jumped = Now(1.0, NOW.wall + days * DAY_MS)
    assert rig.log.expire_producers(jumped) == 0
    rig.append(batch(1, producer=(7, 0, 1)), now=jumped)
    assert rig.log.expire_producers(later(DAY_MS - 1)) == 0
    assert rig.log.expire_producers(later(DAY_MS + 1002)) == 1


@pytest.mark.parametrize("days", [-2, 0, 2])
def test_a_producer_outlives_a_restart_whatever_the_clock_says_then(days: int) -> None:
    rig = Rig()
    rig.append(batch(0, producer=(7, 0, 0)))
    rig.close_clean()
    start = Now(0.0, NOW.wall + days * DAY_MS)
    rig.now = start
    rig.open(recovery_point=1, clean=True)
    assert rig.log.expire_producers(Now(RESUMED_MS_MIN / 1000, start.wall + RESUMED_MS_MIN)) == 0
    assert rig.log.expire_producers(Now(2 * DAY_MS / 1000, start.wall)) == 1
