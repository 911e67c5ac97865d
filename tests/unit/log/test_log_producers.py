"""The rules of idempotence, one by one, and that they outlive restarts."""

from logs import NOW, SMALL, Rig, batch, header, later, verdict

from headrace.log import Duplicate
from headrace.log.producers import SEQUENCE_MAX, Producers
from headrace.wire.batch import BatchHeader
from headrace.wire.codes import ErrorCode
from headrace.wire.records import Marker, build_marker

OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
FENCED = ErrorCode.INVALID_PRODUCER_EPOCH


def sent(sequence: int, *, base_offset: int = 0, records: int = 1, epoch: int = 0, producer_id: int = 7) -> BatchHeader:
    return header(batch(base_offset, records, producer=(producer_id, epoch, sequence)))


def after(*headers: BatchHeader) -> Producers:
    producers = Producers()
    for known in headers:
        producers.record(known, NOW.wall)
    return producers


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert after().check(sent(0)) is None
    assert after().check(sent(4711, epoch=3)) is None


def test_the_next_sequence_is_in_order() -> None:
    known = after(sent(0, records=3))
    assert known.check(sent(3)) is None
    assert known.check(sent(4)) is OUT_OF_ORDER
    assert known.check(sent(2)) is OUT_OF_ORDER


def test_a_resend_is_answered_with_the_first_offset() -> None:
    known = after(sent(0, base_offset=100, records=3), sent(3, base_offset=103, records=2))
    assert known.check(sent(0, records=3)) == Duplicate(100, 103, NOW.wall)
    assert known.check(sent(3, records=2)) == Duplicate(103, 105, NOW.wall)


def test_a_resend_with_other_bounds_is_not_a_duplicate() -> None:
    known = after(sent(0, records=3))
    assert known.check(sent(0, records=2)) is OUT_OF_ORDER
    assert known.check(sent(1, records=2)) is OUT_OF_ORDER


def test_five_batches_are_remembered_and_no_more() -> None:
    known = after(*(sent(sequence, base_offset=sequence) for sequence in range(6)))
    assert known.check(sent(0)) is OUT_OF_ORDER
    for sequence in range(1, 6):
        assert known.check(sent(sequence)) == Duplicate(sequence, sequence + 1, NOW.wall)


def test_an_older_epoch_is_fenced() -> None:
    assert after(sent(0, epoch=2)).check(sent(1, epoch=1)) is FENCED


def test_a_newer_epoch_begins_at_zero_and_forgets_the_old() -> None:
    known = after(sent(0), sent(1))
    assert known.check(sent(2, epoch=1)) is OUT_OF_ORDER
    assert known.check(sent(0, epoch=1)) is None
    known.record(sent(0, epoch=1, base_offset=50), NOW.wall)
    assert known.check(sent(0, epoch=1)) == Duplicate(50, 51, NOW.wall)
    assert known.check(sent(1)) is FENCED


def test_sequences_wrap_to_zero() -> None:
    known = after(sent(SEQUENCE_MAX))
    assert known.check(sent(0)) is None
    known = after(sent(SEQUENCE_MAX - 1, records=4, base_offset=10))
    assert known.check(sent(2)) is None
    assert known.check(sent(SEQUENCE_MAX - 1, records=4)) == Duplicate(10, 14, NOW.wall)


def test_a_marker_carries_an_epoch_and_no_sequence() -> None:
    marker = header(build_marker(Marker(True, 0), producer_id=7, producer_epoch=4, timestamp=0))
    known = after(sent(0), sent(1), marker)
    assert known.check(sent(2)) is FENCED
    assert known.check(sent(0, epoch=4)) is None
    assert known.check(sent(1, epoch=4)) is OUT_OF_ORDER


def test_idle_producers_expire_by_when_they_wrote() -> None:
    producers = after(sent(0, producer_id=1))
    producers.record(sent(0, producer_id=2), NOW.wall + 500)
    assert producers.expire(NOW.wall + 1001, 1000) == 1
    assert producers.get(1) is None
    assert producers.get(2) is not None


def test_encoding_keeps_every_state() -> None:
    producers = after(*(sent(i, base_offset=i) for i in range(7)), sent(5, producer_id=8, epoch=3, records=9))
    copy = Producers.decode(producers.encode())
    for headers in (sent(2), sent(6), sent(7), sent(5, producer_id=8, epoch=3, records=9), sent(0, producer_id=9)):
        assert copy.check(headers) == producers.check(headers)


def test_a_log_knows_its_producers_after_every_kind_of_stop() -> None:
    rig = Rig()
    for sequence in range(30):
        rig.append(batch(sequence, producer=(7, 0, sequence)))
    last, following = batch(0, producer=(7, 0, 29)), batch(30, producer=(7, 0, 30))
    rig.close_clean()
    for clean in (True, False):
        log = rig.open(recovery_point=30, clean=clean)
        assert verdict(log, header(last)) == Duplicate(29, 30, NOW.wall)
        assert verdict(log, header(following)) is None
    log = rig.open(recovery_point=0)
    assert verdict(log, header(last)) == Duplicate(29, 30, NOW.wall)


def test_damaged_snapshots_are_replaced_by_a_replay() -> None:
    rig = Rig()
    for sequence in range(30):
        rig.append(batch(sequence, producer=(7, 0, sequence)))
    rig.close_clean()
    for name in rig.names():
        if name.endswith(".snapshot"):
            rig.machine.flip_bit(f"/data/orders-0/{name}", 20)
    log = rig.open(recovery_point=30, clean=True)
    assert verdict(log, header(batch(0, producer=(7, 0, 29)))) == Duplicate(29, 30, NOW.wall)
    assert not any(name.endswith(".snapshot") for name in rig.names())


def test_a_log_expires_producers_by_its_config() -> None:
    rig = Rig(SMALL._replace(producer_expiration_ms=1000))
    rig.append(batch(0, producer=(7, 0, 5)))
    assert rig.log.expire_producers(later(1000)) == 0
    assert verdict(rig.log, sent(9)) is OUT_OF_ORDER
    assert rig.log.expire_producers(later(1001)) == 1
    assert verdict(rig.log, sent(9)) is None
