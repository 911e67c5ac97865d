"""A client as people have it: default settings, a steady stream of records, and a ledger of what it was told.

It chooses no partition: librdkafka spreads the records, over new partitions too once it knows of them. By default it is
not idempotent, and may then send a record twice or overtake itself when it sends again; `EXACTLY_ONCE` may do neither.
"""

import threading
from types import TracebackType
from typing import Self

from confluent_kafka import Message, Producer

from chaos.ledger import Ledger, Written
from chaos.reader import read_all
from eventually import until

EXACTLY_ONCE = {"enable.idempotence": True}
PADDING = b"x" * 200
RECORDS_PER_TURN = 4
TURN_SECONDS = 0.01
FLUSH_SECONDS = 60.0
WAIT_SECONDS = 60.0


class Traffic:
    """`with Traffic(bootstrap, topic) as traffic:`; at the end everything sent must have been acknowledged."""

    def __init__(self, bootstrap: str, topic: str, **settings: object) -> None:
        self.failures: list[str] = []
        self.partitions: set[int] = set()
        self._bootstrap = bootstrap
        self._topic = topic
        self._idempotent = bool(settings.get("enable.idempotence"))
        self._ledger = Ledger()
        self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, **settings})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.progress()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(FLUSH_SECONDS)
        if left:
            self.failures.append(f"{left} records were never answered for")

    def progress(self, count: int = 100) -> None:
        """Returns when so many more are acknowledged."""
        wanted = self._ledger.count + count
        until(
            lambda: self._ledger.count,
            lambda count: count >= wanted,
            otherwise=lambda: f"nothing is acknowledged any more; {self.failures[:3]}",
        )

    def check(self, bootstrap: str | None = None) -> None:
        """After the end: no failed delivery report, and another library reads exactly what this one was told.

        It needs a bootstrap of brokers that are alive: kafka-python leaves the socket of a dead one open.
        """
        assert self.failures == []
        found = read_all(
            bootstrap or self._bootstrap, [(self._topic, partition) for partition in sorted(self.partitions)]
        )
        broken = self._ledger.check(found, ["traffic"] if self._idempotent else [], one_leader=False)
        assert not broken, "\n".join(broken[:20])

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(TURN_SECONDS):
            for _ in range(RECORDS_PER_TURN):
                written = Written("traffic", number)
                # As a header: a key would choose the partition.
                self._producer.produce(
                    self._topic, written.encode(), headers={"padding": PADDING}, on_delivery=self._enter(written)
                )
                number += 1
            self._producer.poll(0)

    def _enter(self, written: Written):
        def enter(error: object, message: Message) -> None:
            if error is not None:
                self.failures.append(f"{written}: {error}")
                return
            self.partitions.add(message.partition())
            self._ledger.acknowledge((self._topic, message.partition()), message.offset(), written)

        return enter
