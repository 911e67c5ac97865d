"""Measurements of the last half hour, in memory: a bounded number of series of a bounded number of points each.

A series that nothing was recorded for is forgotten once its last point is too old. When there are too many, new ones are
not begun. Points are two doubles: 20,000 series of 360 are 115 MB. A cluster of 1,000 topics has some 9,000 series.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headrace.gateway.monitor.page import Labels

SERIES_MAX = 20_000


class Series(NamedTuple):
    name: str
    labels: Labels = ()


class Point(NamedTuple):
    at: float
    value: float


class _Track:
    __slots__ = ("times", "values")

    def __init__(self) -> None:
        self.times = array("d")
        self.values = array("d")

    def add(self, at: float, value: float, points_max: int) -> None:
        self.times.append(at)
        self.values.append(value)
        # In one stroke now and then: to cut one off each time would move all the others each time.
        if len(self.times) >= points_max + max(16, points_max // 4):
            del self.times[:-points_max], self.values[:-points_max]


class History:
    def __init__(self, seconds_max: float, points_max: int, series_max: int = SERIES_MAX) -> None:
        self._seconds_max = seconds_max
        self._points_max = points_max
        self._series_max = series_max
        self._tracks: dict[Series, _Track] = {}
        self._latest: dict[str, dict[Labels, float]] = {}

    def __len__(self) -> int:
        return len(self._tracks)

    def record(self, at: float, values: Mapping[Series, float]) -> None:
        """All that was seen at one time: what is not in it is not there any more."""
        latest: dict[str, dict[Labels, float]] = {}
        for series, value in values.items():
            latest.setdefault(series.name, {})[series.labels] = value
            track = self._tracks.get(series)
            if track is None:
                if len(self._tracks) >= self._series_max:
                    continue
                track = self._tracks[series] = _Track()
            track.add(at, value, self._points_max)
        self._latest = latest
        self._forget(at - self._seconds_max)

    def _forget(self, before: float) -> None:
        for series in [series for series, track in self._tracks.items() if track.times[-1] < before]:
            del self._tracks[series]

    def latest(self, name: str) -> Mapping[Labels, float]:
        return self._latest.get(name, {})

    def points(self, series: Series, since: float) -> list[Point]:
        track = self._tracks.get(series)
        if track is None:
            return []
        begin = bisect_left(track.times, since)
        return [Point(*pair) for pair in zip(track.times[begin:], track.values[begin:], strict=True)]

    def tracks(self, name: str, since: float) -> Iterator[tuple[Labels, list[Point]]]:
        """The points of every series of this name that was seen at the last look."""
        for labels in self.latest(name):
            yield labels, self.points(Series(name, labels), since)
