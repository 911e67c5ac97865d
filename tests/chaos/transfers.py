"""Exactly once through the storm: two movers of one group copy a topic in transactions that carry the group's offsets.

Whatever happens to brokers, coordinators and movers, a read_committed reader finds each acknowledged record of the source
once in the target, in the order of its partition.

A mover is a process (see `mover`): some are killed at work, and one that hangs in a call can be ended. librdkafka 2.16 may
never return from send_offsets_to_transaction, whatever its time-out: it waits for a group coordinator that Metadata had
left out meanwhile, whose connection it has given up for good, and looks again only when another connection goes up or down.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections import Counter

from confluent_kafka import Consumer, KafkaException, TopicPartition

from chaos import mover as mover_program
from chaos.cluster import Cluster
from chaos.guest import Guest
from chaos.ledger import Ledger, Place
from chaos.load import Load
from chaos.reader import read_all
from eventually import until

SOURCE, TARGET, GROUP = "transfer-source", "transfer-target", "transfers"
PARTITIONS = 2
# Longer than any call that keeps its own time-out.
HUNG_SECONDS = 2 * mover_program.CALL_SECONDS
MOVER_SECONDS = (10.0, 60.0)
DRAIN_SECONDS = 90.0


class Transfers(Guest):
    threads = 2

    def __init__(self) -> None:
        super().__init__()
        self.hung = 0
        self._is_calm = False

    def prepare(self) -> None:
        self._source = self.cluster.create_topic(SOURCE, PARTITIONS, {})
        self._target = self.cluster.create_topic(TARGET, PARTITIONS, {})
        self._ledger = Ledger()
        self._load = Load(
            "source",
            self.cluster.bootstrap,
            self._ledger,
            self._source,
            idempotent=True,
            burst_seconds=0.2,
            login=self.cluster.login,
        )
        self._load.start()

    def finish(self) -> None:
        """All of the source is acknowledged, and the movers have come to its end."""
        self._is_calm = True
        self._load.stop()
        self.failures += self._load.failures
        end = {(SOURCE, place[1]): len(found) for place, found in self._read(self._source).items()}
        until(
            lambda: self._committed() == end,
            seconds=DRAIN_SECONDS,
            otherwise=lambda: f"moved {self._committed()} of {end}",
        )

    def abandon(self) -> None:
        if not self.stopping.is_set():
            self._load.abandon()
        super().abandon()

    def check(self) -> list[str]:
        print(f"{self.name}: {self.hung} movers hung in a call, and were replaced")
        source, target = self._read(self._source), self._read(self._target)
        broken = self._ledger.check(source, ["source"], one_leader=False)
        for partition in range(PARTITIONS):
            wanted = [record.written for record in source[SOURCE, partition]]
            moved = [record.written for record in target[TARGET, partition]]
            if wanted != moved:
                broken.append(f"{self.name}: partition {partition}: {_difference(wanted, moved)}")
        return broken

    def _read(self, places: list[Place]) -> dict:
        return read_all(self.cluster.bootstrap, places, isolation_level="read_committed", login=self.cluster.login)

    def _committed(self) -> dict[Place, int]:
        brokers = {"bootstrap.servers": self.cluster.bootstrap, **self.cluster.login.librdkafka}
        consumer = Consumer({**brokers, "group.id": GROUP, **mover_program.SOON})
        try:
            wanted = [TopicPartition(*place) for place in self._source]
            found = consumer.committed(wanted, timeout=mover_program.CALL_SECONDS)
            return {(each.topic, each.partition): each.offset for each in found}
        except KafkaException:
            return {}
        finally:
            consumer.close()

    def work(self, number: int) -> None:
        """One mover after the other: of an id there is always the next."""
        while not self.stopping.is_set():
            with _Mover(self.cluster, number) as mover:
                # Some are killed at work, for their open transaction to be ended by the next.
                self._attend(mover, time.monotonic() + self.rng.uniform(*MOVER_SECONDS))

    def _attend(self, mover: "_Mover", end: float) -> None:
        while not self.stopping.is_set():
            line = mover.read()
            if line is None:
                self.hung += 1
                return
            if not line:
                mover.check_end()
                return
            word, _, count = line.partition(" ")
            if word == "moved":
                self.note_done(int(count))
            if time.monotonic() > end and not self._is_calm:
                return
        mover.end()


class _Mover:
    """A process that runs `mover`; killed when it is left, whatever it does then."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        words = [cluster.bootstrap, GROUP, f"mover-{number}", SOURCE, TARGET]
        more = {mover_program.LOGIN: json.dumps(dict(cluster.login.librdkafka))}
        self._process = subprocess.Popen(
            [sys.executable, "-P", mover_program.__file__, *words],
            env={**os.environ, **more},
            # What was read ahead would be hidden from `select`.
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self._news = self._process.stdout

    def __enter__(self) -> "_Mover":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        with self._process:
            """Its pipes are closed, and it has ended."""

    def read(self) -> str | None:
        """The next line, an empty one when it has ended, None when it hangs in a call."""
        ready, _, _ = select.select([self._news], [], [], HUNG_SECONDS)
        return self._news.readline().decode().rstrip() if ready else None

    def check_end(self) -> None:
        _, said = self._process.communicate(timeout=HUNG_SECONDS)
        assert self._process.returncode == mover_program.GAVE_UP, said.decode()

    def end(self) -> None:
        """In its own time, or else it is killed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=HUNG_SECONDS)


def _difference(wanted: list, moved: list) -> str:
    lost, twice = Counter(wanted) - Counter(moved), Counter(moved) - Counter(wanted)
    return f"{len(wanted)} to move, {len(moved)} there; lost {list(lost)[:5]}, too many {list(twice)[:5]}"
