"""Where leader epochs end: the answers OffsetForLeaderEpoch needs."""

import pytest
from logs import NOW, Rig, batch

from headrace.log.epochs import Epochs


def epochs(*rows: tuple[int, int]) -> Epochs:
    made = Epochs()
    for epoch, start in rows:
        made.begin(epoch, start)
    return made


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (7, (7, 300)),
        (8, (-1, -1)),
        (5, (5, 200)),
        (6, (5, 200)),
        (3, (3, 100)),
        (4, (3, 100)),
        (1, (1, 10)),
        (-1, (-1, -1)),
    ],
)
def test_end_of_epoch(asked: int, answer: tuple[int, int]) -> None:
    assert epochs((3, 10), (5, 100), (7, 200)).end_of(asked, 7, 300) == answer


def test_the_leaders_own_epoch_ends_at_the_log_end_even_without_batches() -> None:
    known = epochs((3, 10))
    assert known.end_of(9, 9, 50) == (9, 50)
    assert known.end_of(4, 9, 50) == (3, 50)
    assert known.end_of(3, 9, 50) == (3, 50)
    assert known.end_of(10, 9, 50) == (-1, -1)


def test_an_empty_log_knows_only_the_current_epoch() -> None:
    assert Epochs().end_of(2, 2, 0) == (2, 0)
    assert Epochs().end_of(1, 2, 0) == (1, 0)
    assert Epochs().end_of(0, -1, 0) == (-1, -1)


def test_trimming_keeps_the_epoch_the_start_lies_in() -> None:
    known = epochs((3, 10), (5, 100), (7, 200))
    known.trim_start(150)
    assert list(known) == [(5, 150), (7, 200)]
    known.trim_start(200)
    assert list(known) == [(7, 200)]
    known.trim_start(900)
    assert list(known) == [(7, 900)]


def test_encoding_keeps_every_row() -> None:
    known = epochs((3, 10), (5, 100))
    copy = Epochs.decode(known.encode())
    assert list(copy) == list(known)
    assert copy.latest == 5


def test_a_log_learns_epochs_from_headers_and_keeps_them() -> None:
    rig = Rig()
    rig.append(batch(0, epoch=2))
    rig.append(batch(1, epoch=2))
    rig.append(batch(2, epoch=5))
    rig.close_clean()
    for clean in (True, False):
        log = rig.open(recovery_point=0, clean=clean)
        assert log.state.epochs.latest == 5
        assert log.state.epochs.end_of(2, -1, log.end_offset) == (2, 2)
        assert log.state.epochs.end_of(4, -1, log.end_offset) == (2, 2)
        assert log.state.epochs.end_of(5, -1, log.end_offset) == (5, 3)
        assert log.state.epochs.end_of(6, 6, log.end_offset) == (6, 3)


def test_truncation_forgets_epochs() -> None:
    rig = Rig()
    rig.append(batch(0, epoch=2))
    rig.append(batch(1, epoch=5))
    rig.log.truncate_to(1, NOW)
    assert rig.log.state.epochs.latest == 2
    rig.append(batch(1, epoch=3))
    assert rig.log.state.epochs.end_of(2, -1, rig.log.end_offset) == (2, 1)
