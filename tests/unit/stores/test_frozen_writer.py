"""When a stopped writer counts as one that will not go on by itself."""

from pathlib import Path

from headrace.stores.frozen_writer import FROZEN_S, LATE_S, LOOK_S, FrozenWriter


class Watched(FrozenWriter):
    """Of a file whose stopped writer the test names."""

    def __init__(self) -> None:
        super().__init__(Path("metadata.sqlite"))
        self.stopped: int | None = None
        self.ended: list[int] = []
        self.mono = 1000.0

    def _stopped_writer(self) -> int | None:
        return self.stopped

    def _end(self, writer: int) -> None:
        self.ended.append(writer)

    def look_for(self, seconds: float) -> None:
        for _ in range(round(seconds / LOOK_S)):
            self.mono += LOOK_S * 1.001
            self.look(self.mono)


def test_one_that_stays_stopped_is_ended_and_once_more_if_it_lives() -> None:
    watched = Watched()
    watched.stopped = 7
    watched.look_for(FROZEN_S)
    assert watched.ended == []
    watched.look_for(2 * LOOK_S)
    assert watched.ended == [7]
    watched.look_for(FROZEN_S + LOOK_S)
    assert watched.ended == [7, 7]


def test_one_that_goes_on_begins_anew() -> None:
    watched = Watched()
    watched.stopped = 7
    watched.look_for(FROZEN_S * 0.9)
    watched.stopped = None
    watched.look_for(LOOK_S)
    watched.stopped = 7
    watched.look_for(FROZEN_S * 0.9)
    watched.stopped = 8
    watched.look_for(FROZEN_S * 0.9)
    assert watched.ended == []


def test_who_stood_still_itself_counts_anew() -> None:
    """All brokers of the host were stopped, and this one is the first to wake up."""
    watched = Watched()
    watched.stopped = 7
    watched.look_for(FROZEN_S * 0.9)
    watched.mono += LATE_S
    watched.look_for(FROZEN_S)
    assert watched.ended == []
    watched.look_for(2 * LOOK_S)
    assert watched.ended == [7]
