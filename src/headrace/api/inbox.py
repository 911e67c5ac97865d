"""Messages read and not finished: those that wait, a batch that grows, and what a loop's body has in hand."""

from collections import deque

import confluent_kafka

from headrace.api.message import Message
from headrace.api.positions import Places, places_after, places_at


class Inbox:
    def __init__(self) -> None:
        self.waiting: deque[confluent_kafka.Message] = deque()
        self.growing: list[Message] = []
        self.in_hand: Places = {}
        self._after: Places = {}

    def clear(self) -> None:
        """Forgets all that was read: it is read again from where the group has committed."""
        self.waiting, self.growing, self.in_hand, self._after = deque(), [], {}, {}

    def hand_out(self) -> list[Message]:
        """The batch that has grown, from now on in hand."""
        batch, self.growing = self.growing, []
        self.in_hand, self._after = places_at(batch), places_after(batch)
        return batch

    def places_to_commit(self) -> Places:
        """The places after what is in hand; not of partitions that were sought elsewhere or taken away."""
        return {place: offset for place, offset in self._after.items() if place in self.in_hand}

    def taken_back(self) -> Places:
        """Where to read again, so that all that was read and not finished comes again; nothing of it is kept."""
        places = {**places_at(self.growing), **self.in_hand}
        for topic, partition in places:
            self.forget(topic, partition)
        return places

    def returned(self, partitions: set[tuple[str, int]]) -> Places:
        """Where to read these again, so that messages that no body has seen come again; none of them is kept."""
        places: Places = {}
        for each in self.growing:
            if each.place_id in partitions:
                places.setdefault(each.place_id, each.offset)
        for read in self.waiting:
            if read.error() is None and (read.topic(), read.partition()) in partitions:
                places.setdefault((read.topic() or "", read.partition() or 0), read.offset() or 0)
        for topic, partition in places:
            self._drop(topic, partition)
        return places

    def forget(self, topic: str, partition: int) -> None:
        self.in_hand.pop((topic, partition), None)
        self._drop(topic, partition)

    def _drop(self, topic: str, partition: int) -> None:
        self.growing = [each for each in self.growing if each.place_id != (topic, partition)]
        self.waiting = deque(each for each in self.waiting if (each.topic(), each.partition()) != (topic, partition))
