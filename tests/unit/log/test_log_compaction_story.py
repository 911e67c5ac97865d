"""Random keyed histories, cleaned at random moments and interrupted by random crashes, beside a plain model of them."""

import itertools
from random import Random

from cleaning import DAY_MS, CleaningRig
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from logs import later

KEYS = "abcdefg"
Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "delete", "seal", "clean", "crash", "restart", "wait"]),
        st.integers(0, 1 << 30),
    ),
    min_size=5,
    max_size=60,
)


class Story:
    def __init__(self) -> None:
        self.rig = CleaningRig()
        self.written: list[tuple[int, str, str | None]] = []
        self.first_cleaned_ms: dict[int, int] = {}
        self.wall = 0

    def play(self, steps: list[Step]) -> None:
        for name, number in steps:
            getattr(self, name)(Random(number))
            self.check()
        self.seal(Random(0))
        self.clean(Random(0))
        self.check()
        self.expect_compacted()
        before = self.rig.table()
        self.clean(Random(0))
        assert self.rig.table() == before, "what is clean stays as it is"

    # Steps

    def put(self, rng: Random) -> None:
        self._append([(rng.choice(KEYS), f"{rng.random()}") for _ in range(rng.randint(1, 4))], rng)

    def delete(self, rng: Random) -> None:
        self._append([(rng.choice(KEYS), None)], rng)

    def _append(self, records: list[tuple[str, str | None]], rng: Random) -> None:
        base = self.rig.log.end_offset
        self.rig.put(*records, codec=rng.choice((0, 0, 1, 3, 4)))
        self.written += [(base + delta, *record) for delta, record in enumerate(records)]

    def seal(self, rng: Random) -> None:
        self.rig.seal()

    def wait(self, rng: Random) -> None:
        self.wall += rng.choice((1000, DAY_MS // 2, DAY_MS))

    def clean(self, rng: Random) -> None:
        rig = self.rig
        rig.sync()
        if len(rig.log.segments.all) > 1:
            rig.clean(later(self.wall), memory_bytes=rng.choice((24 * 8, 1 << 16)))
            self._note_cleaned(rig.cleaned_to)

    def _note_cleaned(self, end_offset: int) -> None:
        for offset, _, value in self.written:
            if value is None and offset < end_offset:
                self.first_cleaned_ms.setdefault(offset, self.wall)

    def crash(self, rng: Random) -> None:
        """The power goes, in the midst of a cleaning if there is one to begin."""
        rig = self.rig
        rig.sync()
        if len(rig.log.segments.all) > 1:
            steps = rig.clean_in_steps(later(self.wall))
            for step in (step for step, _ in zip(steps, range(rng.randint(0, 6)), strict=False)):
                step()
            self._note_cleaned(rig.log.segments.all[-1].base_offset)
        rig.machine.crash(rng)
        rig.open(recovery_point=rig.log.end_offset)
        assert not rig.report.is_damage
        # What was cleaned is written down after the swap: a crash may lose that.
        rig.cleaned_to = rng.choice((0, min(rig.cleaned_to, rig.log.segments.all[-1].base_offset)))
        rig.sync()

    def restart(self, rng: Random) -> None:
        self.rig.close_clean()
        self.rig.open(recovery_point=self.rig.log.end_offset, clean=True)

    # What must be true at any time

    def check(self) -> None:
        table = self.rig.table()
        offsets = [offset for offset, _, _ in table]
        assert offsets == sorted(set(offsets))
        assert set(table) <= set(self.written), "offset, key and value are those that were written"
        assert self.rig.log.end_offset == (self.written[-1][0] + 1 if self.written else 0)
        self._expect_newest(table)
        segments = self.rig.log.segments.all
        assert all(one.next_offset == other.base_offset for one, other in itertools.pairwise(segments))

    def _expect_newest(self, table: list[tuple[int, str, str | None]]) -> None:
        newest = {key: (offset, value) for offset, key, value in self.written}
        there = {key: (offset, value) for offset, key, value in table}
        for key, (offset, value) in newest.items():
            if value is None and key not in there:
                cleaned_ms = self.first_cleaned_ms.get(offset)
                assert cleaned_ms is not None, "a tombstone went before it was ever cleaned"
                assert self.wall >= cleaned_ms + DAY_MS, "a tombstone went too early"
            else:
                assert there[key] == (offset, value)

    def expect_compacted(self) -> None:
        rig = self.rig
        while rig.cleaned_to < rig.log.segments.all[-1].base_offset:
            self.clean(Random(1))
        keys = [key for offset, key, _ in rig.table()]
        assert len(keys) == len(set(keys)), "one record a key"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_a_history_in_any_order(steps: list[Step]) -> None:
    Story().play(steps)


def test_a_long_history() -> None:
    for seed in range(5):
        rng = Random(seed)
        names = ("put", "put", "put", "delete", "seal", "clean", "crash", "restart", "wait")
        Story().play([(rng.choice(names), rng.randrange(1 << 30)) for _ in range(120)])
