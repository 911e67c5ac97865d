"""Offsets of a source as offsets of its copy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.offset_runs import OffsetRun, OffsetRuns, runs_in, target_offset

ABOUT = {"topic": "t", "partition": "0"}


def test_a_gap_begins_a_run():
    runs = OffsetRuns(100)
    runs.add(np.array([5, 6, 7, 9, 10]))
    runs.add(np.array([11, 20]))
    assert runs.runs == [OffsetRun(5, 100, 3), OffsetRun(9, 103, 3), OffsetRun(20, 106, 1)] and runs.target_end == 107


@given(st.sets(st.integers(0, 300), min_size=1), st.integers(1, 4), st.integers(1, 50))
def test_every_offset_finds_its_record(offsets, pieces, per_note):
    ordered = np.array(sorted(offsets))
    copies, target, notes = {}, 7, []
    for piece in np.array_split(ordered, pieces):
        if not len(piece):
            continue
        runs = OffsetRuns(target)
        runs.add(piece)
        copies |= {int(offset): target + i for i, offset in enumerate(piece)}
        target = runs.target_end + 1  # the marker of a transaction
        said = runs.notes(ABOUT, per_note)
        notes += [(k.encode(), v.encode()) for k, v in zip(said["key"], said["value"], strict=True)]
    runs = runs_in([*notes, (b'{"topic": "other"}', b"[[0, 0, 1]]")], ABOUT)
    for offset, copy in copies.items():
        assert target_offset(runs, offset) == copy
    for offset in range(int(ordered[-1])):
        following = min(o for o in copies if o >= offset)
        assert target_offset(runs, offset) == copies[following]
    assert target_offset(runs, int(ordered[-1]) + 1) == copies[int(ordered[-1])] + 1


def test_nothing_copied_nothing_mapped():
    assert target_offset([], 5) is None
