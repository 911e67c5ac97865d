"""A crash at every step of a swap leaves the log with the cleaned segments or with the old ones, and whole in any case."""

import itertools
from random import Random

import pytest
from cleaning import CleaningRig
from logs import NOW, PATH

from headrace.log.clean_job import CleanReport
from headrace.log.clean_log import clean_log
from headrace.log.swap import begin_swap
from headrace.wire.batch import CorruptBatch

CLEANED = [(18, "b", "18"), (19, "a", "19")]


def dirty() -> CleaningRig:
    rig = CleaningRig()
    for n in range(20):
        rig.put(("ba"[n % 2], f"{n}"))
    rig.seal()
    return rig


def newest(rig: CleaningRig) -> dict[str, str | None]:
    return {key: value for _, key, value in rig.table()}


def expect_whole(rig: CleaningRig) -> None:
    segments = rig.log.segments.all
    assert all(before.next_offset == after.base_offset for before, after in itertools.pairwise(segments))
    assert (segments[0].base_offset, rig.log.end_offset) == (0, 20)
    offsets = [offset for offset, _, _ in rig.table()]
    assert offsets == sorted(set(offsets))
    assert newest(rig) == {"a": "19", "b": "18"}


@pytest.mark.parametrize("power", [True, False], ids=["power cut", "kill"])
@pytest.mark.parametrize("steps", range(8))
def test_a_crash_after_any_step(steps: int, power: bool) -> None:
    for seed in range(30):
        rig = dirty()
        for number, step in enumerate(rig.clean_in_steps(segment_bytes=300), 1):
            if number > steps:
                break
            step()
        if power:
            rig.machine.crash(Random(seed))
        else:
            rig.machine.kill()
        rig.open(recovery_point=20)
        assert not rig.report.is_damage
        expect_whole(rig)
        assert not [name for name in rig.names() if name.endswith((".swap", ".cleaned", ".deleted"))]
        rig.sync()
        rig.cleaned_to = 0
        rig.clean()
        assert rig.table() == CLEANED


SYNCS_OF_A_START = 3


def fail_sync_after(rig: CleaningRig, syncs: int) -> None:
    """Of the next life: so many of its directory succeed, then one fails."""
    due = iter([False] * syncs + [True])

    def is_due(faults: list[str], path: str) -> bool:
        return faults is rig.machine.fail_syncs and path == PATH and next(due, False)

    rig.machine.is_due = is_due  # type: ignore[method-assign]


@pytest.mark.parametrize("syncs", range(SYNCS_OF_A_START))
def test_a_crash_while_the_start_finishes_a_swap(syncs: int) -> None:
    for seed in range(50):
        rig = dirty()
        steps = rig.clean_in_steps()
        next(steps)()
        next(steps)
        rig.machine.crash(Random(seed))
        fail_sync_after(rig, syncs)
        with pytest.raises(Exception, match="simulated"):
            rig.open(recovery_point=20)
        rig.machine.crash(Random(seed + 1))
        rig.open(recovery_point=20)
        expect_whole(rig)


@pytest.mark.parametrize("syncs", range(SYNCS_OF_A_START))
def test_power_is_lost_while_the_start_finishes_a_swap_whose_name_was_on_no_disk(syncs: int) -> None:
    """The process was killed right after the swap file got its name."""
    for seed in range(50):
        rig = dirty()
        next(rig.clean_in_steps())
        rig.machine.kill()
        fail_sync_after(rig, syncs)
        with pytest.raises(Exception, match="simulated"):
            rig.open(recovery_point=20)
        rig.machine.crash(Random(seed))
        rig.open(recovery_point=20)
        expect_whole(rig)


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_a_cut_in_the_midst_of_a_swap(taken: int) -> None:
    """After an unclean election: what was cut is not there again after a crash, however far the swap had come."""
    for seed in range(30):
        rig = dirty()
        steps = rig.clean_in_steps()
        for _ in range(taken):
            next(steps)()
        rig.log.truncate_to(7, NOW)
        assert rig.log.end_offset <= 7
        rig.put(("z", "new"), epoch=5)
        end = rig.log.end_offset
        rig.seal()
        expected = rig.table()
        rig.machine.crash(Random(seed))
        rig.open(recovery_point=min(7, end))
        assert rig.table() == expected


def test_what_was_cut_meanwhile_is_not_swapped() -> None:
    rig = dirty()
    old, truncations = list(rig.log.segments.all[:-1]), rig.log.sync.truncations
    group = next(clean_log(rig.disk, rig.job(), b"secret", lambda _: None))
    assert not isinstance(group, CleanReport)
    rig.log.truncate_to(old[0].next_offset + 1, NOW)
    for n in range(20):
        rig.put(("new", f"{n}"), epoch=1)
    assert begin_swap(rig.log.segments, group, old, truncations) is None


def test_what_retention_took_meanwhile_is_not_swapped() -> None:
    rig = dirty()
    old = list(rig.log.segments.all[:-1])
    group = next(clean_log(rig.disk, rig.job(segment_bytes=10_000), b"secret", lambda _: None))
    assert not isinstance(group, CleanReport)
    swap = begin_swap(rig.log.segments, group, old, 0)
    assert swap is not None
    rig.log.advance_start(old[0].next_offset)
    rig.log.retire_segments(rig.log.start_offset)
    assert not swap.put_in()
    assert newest(rig) == {"a": "19", "b": "18"}


def test_a_reader_that_has_the_old_file_reads_to_its_end() -> None:
    rig = dirty()
    found = rig.log.reader.read(0, 1 << 20, rig.log.end_offset)
    assert found is not None
    before = found.read()
    rig.clean()
    assert found.read() == before
    found.release()
    assert rig.table() == CLEANED


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("with_index", [True, False])
def test_a_segment_that_is_gone_does_not_pass_for_a_cleaned_one(clean: bool, with_index: bool) -> None:
    rig = dirty()
    rig.put(("z", "last"))
    rig.close_clean()
    first, gone = rig.log.segments.all[:2]
    rig.disk.unlink(gone.log_path)
    if not with_index:
        rig.disk.unlink(first.index_path)
    log = rig.open(recovery_point=21, clean=clean)
    for offset in range(21):
        if gone.base_offset <= offset < gone.next_offset:
            with pytest.raises(CorruptBatch, match="a segment file is gone"):
                log.reader.read(offset, 1 << 20, log.end_offset)
        else:
            assert rig.read(offset) is not None
