"""Producers that go on through every death of their broker and enter each acknowledgement into the ledger."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable

from confluent_kafka import KafkaException, Message, Producer

from chaos.ledger import Ledger, Place, Written
from chaos.login import NOBODY, Login

FLUSH_SECONDS = 60.0
PADDING = b"x" * 300
BURST = 20
BURST_SECONDS = 0.002
# Of one partition, so that one that does not answer does not hold up the others.
WAITING_MAX = 100

# A dead broker is asked again soon; whoever is told "not delivered" would leave a hole in the order.
_PATIENT = {
    "acks": "all",
    "linger.ms": 2,
    "message.timeout.ms": 120_000,
    "request.timeout.ms": 3_000,
    "socket.timeout.ms": 3_000,
    "retry.backoff.ms": 20,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
}
# Without sequence numbers, a second request in flight could overtake the first when that one is sent again.
_PLAIN = {"enable.idempotence": False, "max.in.flight": 1}


class Load:
    """One producer in a thread, writing numbered records to its partitions in turn."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        ledger: Ledger,
        places: list[Place],
        *,
        idempotent: bool,
        burst_seconds: float = BURST_SECONDS,
        login: Login = NOBODY,
    ) -> None:
        self.name = name
        self.idempotent = idempotent
        self.failures: list[str] = []
        self.sent = 0
        """How many records were handed over; the next one has this number."""
        self.newest_ack: defaultdict[Place, int] = defaultdict(lambda: -1)
        self.longest_gap: defaultdict[Place, float] = defaultdict(float)
        """The longest time without an acknowledgement: noted, never judged."""
        self._last_ack: dict[Place, float] = {}
        self._waiting: defaultdict[Place, int] = defaultdict(int)
        self._ledger = ledger
        self._places = places
        self._burst_seconds = burst_seconds
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                **_PATIENT,
                **({"enable.idempotence": True} if idempotent else _PLAIN),
                **login.librdkafka,
            }
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when everything that was sent is acknowledged; what is not is a failure."""
        self._stop.set()
        self._thread.join()
        left = self._producer.flush(FLUSH_SECONDS)
        if left:
            self.failures.append(f"{self.name}: {left} records were not acknowledged")

    def abandon(self) -> None:
        """For a test that has failed: what is not acknowledged is given up."""
        self._stop.set()
        self._thread.join()
        self._producer.purge()
        self._producer.flush(0)

    def _run(self) -> None:
        turn = 0
        while not self._stop.is_set():
            place = self._places[turn % len(self._places)]
            turn += 1
            if self._waiting[place] < WAITING_MAX:
                self._write(*place)
            self._producer.poll(0)
            if turn % BURST == 0:
                # As fast as it can would only make the reading back take longer.
                self._stop.wait(self._burst_seconds)

    def _write(self, topic: str, partition: int) -> None:
        written = Written(self.name, self.sent)
        self._waiting[topic, partition] += 1
        delivered = self._delivered((topic, partition), written)
        try:
            self._producer.produce(topic, written.encode(), PADDING, partition, on_delivery=delivered)
        except KafkaException as refused:
            self._waiting[topic, partition] -= 1
            self.failures.append(f"{written}: {refused}")
        self.sent += 1

    def _delivered(self, place: Place, written: Written) -> Callable[[object, Message], None]:
        def enter(error: object, message: Message) -> None:
            self._waiting[place] -= 1
            if error is None:
                self._ledger.acknowledge(place, message.offset(), written)
                self._note(place, written.number)
            else:
                self.failures.append(f"{written}: {error}")

        return enter

    def _note(self, place: Place, number: int) -> None:
        now = time.monotonic()
        self.longest_gap[place] = max(self.longest_gap[place], now - self._last_ack.get(place, now))
        self._last_ack[place] = now
        self.newest_ack[place] = max(self.newest_ack[place], number)
