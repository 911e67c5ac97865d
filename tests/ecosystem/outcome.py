"""What comes out of a program: its records are counted, each once, while it works, and read as a whole at the end."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Self

from confluent_kafka import Consumer, TopicPartition

from chaos.ledger import Found, Place, Written
from chaos.reader import read_all

WAIT_SECONDS = 180.0
PAUSE_SECONDS = 0.2


class Outcome(ABC):
    name: str

    def __init__(self) -> None:
        self._values: set[bytes] = set()

    @property
    def count(self) -> int:
        return len(self._values)

    def progress(self, more: int, still_well: Callable[[], None]) -> None:
        """Returns when so many more have come out; `still_well` raises when that cannot be."""
        self.until(self.count + more, still_well)

    def until(self, count: int, still_well: Callable[[], None]) -> None:
        """However long it takes, as long as more comes out."""
        came, last_came = self.count, time.monotonic()
        while self.count < count:
            still_well()
            self._values |= self._look()
            if self.count > came:
                came, last_came = self.count, time.monotonic()
            waited = time.monotonic() - last_came
            assert waited < WAIT_SECONDS, f"{came} of {count} records came out of {self.name}, and no more"

    @abstractmethod
    def _look(self) -> set[bytes]:
        """What is there by now, or since the last look; after a short wait when there is nothing."""

    @abstractmethod
    def read(self) -> dict[Place, list[Found]]: ...


class TopicOutcome(Outcome):
    """The committed records of a topic."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__()
        self.name = topic
        self._bootstrap = bootstrap
        self._places: list[Place] = [(topic, partition) for partition in range(partitions)]
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "outcome",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(*place, 0) for place in self._places])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def _look(self) -> set[bytes]:
        return {message.value() for message in self._consumer.consume(500, PAUSE_SECONDS) if not message.error()}

    def read(self) -> dict[Place, list[Found]]:
        """By another library than the one that counted."""
        return read_all(self._bootstrap, self._places, "read_committed")


class FileOutcome(Outcome):
    """The lines of a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.name = path.name
        self._path = path

    def _look(self) -> set[bytes]:
        time.sleep(PAUSE_SECONDS)
        return set(self._lines())

    def read(self) -> dict[Place, list[Found]]:
        return {(self.name, 0): [Found(each, Written.decode(line)) for each, line in enumerate(self._lines())]}

    def _lines(self) -> list[bytes]:
        """Without the last, while it is being written."""
        return self._path.read_bytes().split(b"\n")[:-1] if self._path.exists() else []
