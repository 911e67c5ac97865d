"""What compaction costs: how fast a log of keyed 1 KB records is cleaned, and what acks notice of it meanwhile.

    python -m bench.compaction [MEGABYTES]

One broker, fsync off. Acks at 1,000 records a second are timed twice: with compaction stopped, and while it goes on. Prints
the figures and writes them to bench/out/compaction.json.
"""

import argparse
import json
import os
import re
import time
import urllib.request
from pathlib import Path
from random import Random

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from bench import native, proc
from bench.workload import PACED
from headrace.testing import Broker

OUT = Path(__file__).parent / "out"
KEY_SHARE = 5
SECONDS = 6
WARMUP_SECONDS = 2
STOPPED = {"log.cleaner.threads": 0, "log.cleaner.backoff.ms": 100}
RELAXED = {"flush.messages": str((1 << 63) - 1)}
COMPACTED = {
    **RELAXED,
    "cleanup.policy": "compact",
    "segment.bytes": str(64 << 20),
    "min.cleanable.dirty.ratio": "0.01",
}


class Compaction:
    def __init__(self, broker: Broker, megabytes: int) -> None:
        self._broker = broker
        self._admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        self._records = megabytes * 1000
        self._clients = native.built(OUT / "native")

    def play(self) -> dict[str, float]:
        self._fill()
        before = self._paced("quiet")
        cpu = self._child_cpu_seconds()
        self._set_threads(1)
        beside = self._paced("beside")
        was_over = bool(self._metric("runs_total"))
        while not self._metric("runs_total"):
            time.sleep(0.1)
        cpu = self._child_cpu_seconds() - cpu
        megabytes = self._metric("read_bytes_total") / 1e6
        return {
            "megabytes": megabytes,
            "mb_per_s": megabytes / self._metric("seconds_total"),
            "mb_per_cpu_s": megabytes / cpu,
            "ack_p99_ms_quiet": before,
            "ack_p99_ms_beside": beside,
            "ratio": beside / before,
            "over_before_the_acks_were": was_over,
        }

    def _fill(self) -> None:
        self._create("table", 1, COMPACTED)
        producer = Producer({"bootstrap.servers": self._broker.bootstrap, "linger.ms": 5})
        value = Random(1).randbytes(1000)
        for number in range(self._records):
            while True:
                try:
                    producer.produce("table", value, b"key-%d" % (number % (self._records // KEY_SHARE)))
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush(60)

    def _paced(self, topic: str) -> float:
        """The p99 of acks in milliseconds."""
        self._create(topic, PACED.partitions, RELAXED)
        where = {"brokers": self._broker.bootstrap, "topic": topic, "partitions": PACED.partitions, "size": PACED.size}
        timing = {"rate": 1000, "seconds": WARMUP_SECONDS + SECONDS, "warmup": WARMUP_SECONDS, "consume": 0}
        return float(self._clients.run("latency", {**where, **timing}, PACED.both())["ack"]["p99"])

    def _create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        (made,) = self._admin.create_topics([NewTopic(topic, partitions, 1, config=config)]).values()
        made.result()

    def _set_threads(self, count: int) -> None:
        change = ConfigEntry("log.cleaner.threads", str(count), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[change])
        (done,) = self._admin.incremental_alter_configs([resource]).values()
        done.result()

    def _metric(self, name: str) -> float:
        with urllib.request.urlopen(self._broker.metrics_url, timeout=5) as page:
            (found,) = re.findall(rf"^headrace_cleaner_{name} (\S+)$", page.read().decode(), re.MULTILINE)
        return float(found)

    def _child_cpu_seconds(self) -> float:
        """Of processes that the broker started and that have ended."""
        fields = Path(f"/proc/{self._broker.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("megabytes", nargs="?", type=int, default=1500)
    given = parser.parse_args()
    others = proc.OtherWork()
    with Broker(STOPPED) as broker:
        figures = Compaction(broker, given.megabytes).play()
    figures["others_cpu_share"] = others.share()
    OUT.mkdir(exist_ok=True)
    (OUT / "compaction.json").write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
