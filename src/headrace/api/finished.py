"""Batches whose bodies have ended while what they sent is on its way: stored for the commit in order, or read again."""

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from headrace.api.errors import DeliveryFailed
from headrace.api.outputs import Span, are_stored
from headrace.api.positions import Places


class Batch(NamedTuple):
    sent: list[Span]
    begin: Places
    end: Places


class Finished:
    """`store` puts places where the next commit finds them."""

    def __init__(self, store: Callable[[Places], None]) -> None:
        self._store = store
        self._waiting: deque[Batch] = deque()
        self._failure: DeliveryFailed | None = None

    def add(self, batch: Batch) -> None:
        self._waiting.append(batch)
        self.store()

    def store(self) -> None:
        """Raises DeliveryFailed if a body sent what could not be stored, and so until all is taken back."""
        if self._failure is not None:
            raise self._failure
        try:
            while self._waiting and are_stored(self._waiting[0].sent):
                self._store(self._waiting.popleft().end)
        except DeliveryFailed as failure:
            self._failure = failure
            raise

    def store_within(self, seconds: float) -> None:
        """Waits for what is on its way; what is not stored by then is read again by the partition's next reader."""
        deadline = time.monotonic() + seconds
        for each in [span for batch in self._waiting for span in batch.sent]:
            if not each.outlet.is_stored(each.after, each.to):
                each.outlet.flush(max(0.0, deadline - time.monotonic()))
        self.store()

    def forget(self, topic: str, partition: int) -> None:
        for each in self._waiting:
            each.begin.pop((topic, partition), None)
            each.end.pop((topic, partition), None)

    def taken_back(self) -> Places:
        """The places to read again after a failure, which ends all waiting; none without a failure."""
        places: Places = {}
        if self._failure is not None:
            for each in self._waiting:
                for place, offset in each.begin.items():
                    places.setdefault(place, offset)
            self._waiting.clear()
            self._failure = None
        return places
