"""Numbered records that go to a program, steadily, from before a broker dies until after it is back."""

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from confluent_kafka import Message, Producer

from chaos.ledger import Written

FLUSH_SECONDS = 120.0
PAUSE_SECONDS = 0.02
KEYS, BURST = 20, 5
_PATIENT = {
    "enable.idempotence": True,
    "linger.ms": 2,
    "message.timeout.ms": 120_000,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
}


class Feed(ABC):
    """`with … as feed:` sends until `stop`, or the end of the block; then all of `feed.sent` is where it was to go."""

    def __init__(self, pause_seconds: float = PAUSE_SECONDS) -> None:
        self.sent: list[Written] = []
        self._pause_seconds = pause_seconds
        self.failures: list[str] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._thread.join()
        self._finish()
        assert not self.failures, self.failures[:5]

    def _run(self) -> None:
        while not self._stopping.wait(self._pause_seconds):
            for _ in range(BURST):
                number, key = divmod(len(self.sent), KEYS)
                written = Written(f"key-{key}", number)
                self.sent.append(written)
                self._send(written)
            self._pause()

    @abstractmethod
    def _send(self, written: Written) -> None: ...

    @abstractmethod
    def _pause(self) -> None: ...

    @abstractmethod
    def _finish(self) -> None: ...


class TopicFeed(Feed):
    """Records of KEYS keys in turn, numbered by key. The value is `key number`; the key chooses the partition."""

    def __init__(self, bootstrap: str, topic: str, pause_seconds: float = PAUSE_SECONDS) -> None:
        super().__init__(pause_seconds)
        self._topic = topic
        self._producer = Producer({"bootstrap.servers": bootstrap, **_PATIENT})

    def _send(self, written: Written) -> None:
        self._producer.produce(self._topic, written.encode(), written.producer, on_delivery=self._delivered)

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self.failures.append(f"{message.value()!r}: {error}")

    def _pause(self) -> None:
        self._producer.poll(0)

    def _finish(self) -> None:
        if left := self._producer.flush(FLUSH_SECONDS):
            self.failures.append(f"{left} records were not acknowledged in {FLUSH_SECONDS:.0f} s")


class FileFeed(Feed):
    """The same values, each a line at the end of a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("ab")

    def _send(self, written: Written) -> None:
        self._file.write(written.encode() + b"\n")

    def _pause(self) -> None:
        self._file.flush()

    def _finish(self) -> None:
        self._file.close()
