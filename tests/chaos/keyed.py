"""A compacted topic through the storm: the newest record of each key is never lost, and keys keep their order.

Its segments are small, since only sealed ones are cleaned; the cleaner runs as often as it may.
"""

from collections import defaultdict

from confluent_kafka import Message, Producer

from chaos.guest import Guest
from chaos.ledger import Written
from chaos.reader import read_all

TOPIC = "latest"
KEYS = 100
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),
    "segment.ms": "10000",
    "min.cleanable.dirty.ratio": "0.01",
}
PADDING = b"x" * 500
WAITING_MAX = 200
PAUSE_SECONDS = 0.02
FLUSH_SECONDS = 60.0


class Keyed(Guest):
    def prepare(self) -> None:
        self._places = self.cluster.create_topic(TOPIC, 1, CONFIG)
        self._newest: defaultdict[str, int] = defaultdict(lambda: -1)
        self._sent = 0
        self._producer = Producer(
            {
                "bootstrap.servers": self.cluster.bootstrap,
                **self.cluster.login.librdkafka,
                "enable.idempotence": True,
                "message.timeout.ms": 120_000,
                "request.timeout.ms": 3_000,
                "socket.timeout.ms": 3_000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )

    def turn(self) -> None:
        if len(self._producer) < WAITING_MAX:
            for _ in range(5):
                self._write(f"key-{self.rng.randrange(KEYS)}")
        self._producer.poll(0)
        self.stopping.wait(PAUSE_SECONDS)

    def _write(self, key: str) -> None:
        written = Written(key, self._sent)
        self._sent += 1

        def note(error: object, _: Message) -> None:
            if error is None:
                self._newest[key] = max(self._newest[key], written.number)
                self.note_done()
            else:
                self.failures.append(f"{self.name}: {written}: {error}")

        self._producer.produce(TOPIC, written.encode(), key, 0, on_delivery=note, headers=[("padding", PADDING)])

    def finish(self) -> None:
        self.stopping.set()
        left = self._producer.flush(FLUSH_SECONDS)
        if left:
            self.failures.append(f"{self.name}: {left} records were not acknowledged")

    def check(self) -> list[str]:
        (records,) = read_all(self.cluster.bootstrap, self._places, login=self.cluster.login).values()
        found: defaultdict[str, int] = defaultdict(lambda: -1)
        broken = []
        for record in records:
            key, number = record.written
            if number <= found[key]:
                broken.append(f"{self.name}: {key}: {number} comes after {found[key]}")
            found[key] = number
        print(f"{self.name}: {self._sent} written, {len(records)} left by compaction")
        return broken + [
            f"{self.name}: {key}: {number} was acknowledged last, {found[key]} is there"
            for key, number in self._newest.items()
            if found[key] != number
        ]
