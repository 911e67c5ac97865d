"""What a client does to a broker, stated once: the properties it runs with and the words in the table come from here.

Invariant: nothing in a workload depends on the peer, so both always get the same.
"""

from dataclasses import dataclass, replace

_QUEUED_BYTES_MAX = 100_000_000


@dataclass(frozen=True)
class Workload:
    size: int
    fsync: bool
    acks: str = "1"
    partitions: int = 4
    linger_ms: float = 5
    batch_bytes: int = 1_000_000
    batch_records: int = 10_000
    in_flight: int = 1_000_000  # librdkafka's own default: no limit worth the name
    queued_max: int = 0
    copies: int = 1

    def with_fsync(self, fsync: bool) -> "Workload":
        return replace(self, fsync=fsync)

    def producer(self) -> dict[str, object]:
        return {
            "acks": self.acks,
            "linger.ms": self.linger_ms,
            "batch.size": self.batch_bytes,
            "batch.num.messages": self.batch_records,
            "max.in.flight.requests.per.connection": self.in_flight,
            "queue.buffering.max.messages": self.queued_max or _QUEUED_BYTES_MAX // self.size,
        }

    def consumer(self) -> dict[str, object]:
        return {"queued.min.messages": 1_000_000, "fetch.wait.max.ms": 100}

    def both(self) -> dict[str, object]:
        """For a client that has a producer and a consumer."""
        sides = {"producer": self.producer(), "consumer": self.consumer()}
        return {f"{side}:{name}": value for side, values in sides.items() for name, value in values.items()}

    def stated(self) -> str:
        batch = "1 record a batch" if self.batch_records == 1 else f"batch {self.batch_bytes / 1e6:g} MB"
        flight = f", in flight {self.in_flight}" if self.in_flight < 1_000_000 else ""
        size = f"{self.size // 1000} KB" if self.size >= 1000 else f"{self.size} B"
        partitions = f"{self.partitions:,} partition{'s' if self.partitions > 1 else ''}"
        replicas = f", RF {self.copies}" if self.copies > 1 else ""
        return f"{size}, acks={self.acks}{replicas}, {partitions}, linger {self.linger_ms:g} ms, {batch}{flight}"


BULK_1K = Workload(size=1000, fsync=False)
BULK_100 = Workload(size=100, fsync=False)
SINGLE = Workload(size=100, fsync=False, linger_ms=0, batch_records=1, in_flight=100, queued_max=1000)
PACED = Workload(size=100, fsync=False, acks="all", linger_ms=1)
BULK_RF3 = Workload(size=1000, fsync=False, acks="all", partitions=6, copies=3)
PACED_RF3 = Workload(size=100, fsync=False, acks="all", partitions=6, linger_ms=1, copies=3)
SPREAD = Workload(size=1000, fsync=False, partitions=12)
"""As many partitions for each of one, two, three or four brokers."""
