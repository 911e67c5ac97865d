"""A consumer that reads along through the storm: what it was shown must stay true.

It starts at the beginning of each partition and never skips: an offset that it was told to go on from must still be
there later, so being sent back (`auto.offset.reset`) is an error here.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from chaos.ledger import Found, Place, Written
from chaos.login import NOBODY, Login

_PATIENT = {
    "group.id": "watch",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 20,
    "fetch.error.backoff.ms": 50,
    "fetch.wait.max.ms": 100,
    "log_level": 0,
}


class Watch:
    """With a `rack` it asks to read from the replica that stands there (KIP-392)."""

    def __init__(self, rack: str = "", login: Login = NOBODY) -> None:
        self._rack = rack
        self._login = login
        self.failures: list[str] = []
        self._seen: defaultdict[Place, dict[int, Written]] = defaultdict(dict)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, bootstrap: str, places: list[Place]) -> None:
        self._thread = threading.Thread(target=self._run, args=(bootstrap, places), name="watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    @property
    def count(self) -> int:
        return sum(map(len, self._seen.values()))

    def check(self, found: Mapping[Place, list[Found]]) -> list[str]:
        """What was seen and is not there any more, or is another record."""
        broken = []
        for place, seen in self._seen.items():
            there = {record.offset: record.written for record in found.get(place, ())}
            broken += [
                f"{place}: a consumer saw {written} at offset {offset}, which holds {there.get(offset)}"
                for offset, written in seen.items()
                if there.get(offset) != written
            ]
        return broken

    def _run(self, bootstrap: str, places: list[Place]) -> None:
        consumer = Consumer(
            {"bootstrap.servers": bootstrap, "client.rack": self._rack, **_PATIENT, **self._login.librdkafka}
        )
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for topic, partition in places])
        while not self._stop.is_set():
            for message in consumer.consume(500, timeout=0.1):
                self._take(message)
        consumer.close()

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is None:
            self._enter((message.topic(), message.partition()), message.offset(), Written.decode(message.value()))
        elif error.code() in (
            KafkaError._AUTO_OFFSET_RESET,
            KafkaError._LOG_TRUNCATION,
            KafkaError.OFFSET_OUT_OF_RANGE,
        ):
            self.failures.append(f"the consumer was sent elsewhere: {error}")

    def _enter(self, place: Place, offset: int, written: Written) -> None:
        seen = self._seen[place]
        if seen.setdefault(offset, written) != written:
            self.failures.append(f"{place}: offset {offset} was {seen[offset]}, and is {written}")
        elif offset and offset - 1 not in seen:
            self.failures.append(f"{place}: a consumer was shown {offset} and not {offset - 1}")
