"""A cluster, the load on it and the judge: what every scenario of faults is played in.

    with World(cluster) as world:
        fault(world)          the storm
        world.judge()         the calm: all in sync again, everything acknowledged is there, replicas are alike

The judge asks another client library than the one that wrote. Chance comes from one seed, printed when the world begins;
CHAOS_SEED plays the same choices again, as far as a real machine can.
"""

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Self

from chaos.cluster import CALM_SECONDS, Cluster
from chaos.guest import Guest
from chaos.ledger import Found, Ledger, Place
from chaos.load import Load
from chaos.reader import read_all
from chaos.replicas import differences
from chaos.watch import Watch
from eventually import until

# Segments of the default size, as users have them: what grows with a segment is seen.
DURABLE: Mapping[str, str] = {}
RELAXED = {"flush.messages": "1000000", "flush.ms": "600000"}
# Rolls in the midst of every fault.
ROLLED = {"segment.bytes": str(1 << 20)}
# Some thousand records a second: enough to be in the midst of something always, and soon read back.
BURST_SECONDS = 0.02


class World:
    """`guests` are clients of other kinds beside the ledger's; `racks` those of brokers that readers ask for."""

    def __init__(
        self,
        cluster: Cluster,
        topics: Mapping[str, Mapping[str, str]] | None = None,
        guests: Sequence[Guest] = (),
        racks: Sequence[str] = (),
        burst_seconds: float = BURST_SECONDS,
    ) -> None:
        seed = int(os.environ.get("CHAOS_SEED", random.randrange(1 << 32)))
        print(f"play again: CHAOS_SEED={seed}")
        self.rng = random.Random(seed)
        self.cluster = cluster
        self.ledger = Ledger()
        self.places: list[Place] = []
        self.loads: list[Load] = []
        self.watches = [Watch(rack, cluster.login) for rack in ("", *racks)]
        self.guests = guests
        self._burst_seconds = burst_seconds
        self._topics = topics or {"durable": DURABLE, "relaxed": RELAXED, "rolled": ROLLED}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.cluster)
            for name, config in self._topics.items():
                self.places += self.cluster.create_topic(name, 3, config)
            stack.callback(self._abandon_clients)
            self._start_clients()
            self._stack = stack.pop_all()
        self.until_progress()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start_clients(self) -> None:
        self.loads += [
            self._load("plain", self.places, idempotent=False),
            self._load("idempotent-1", self.places, idempotent=True),
            self._load("idempotent-2", self.places[:1], idempotent=True),
        ]
        for watch in self.watches:
            watch.start(self.cluster.bootstrap, self.places)
        for load in self.loads:
            load.start()
        for guest in self.guests:
            guest.begin(self.cluster, self.rng)

    def _abandon_clients(self) -> None:
        for load in self.loads:
            load.abandon()
        for guest in self.guests:
            guest.abandon()
        for watch in self.watches:
            watch.stop()

    def _load(self, name: str, places: list[Place], *, idempotent: bool) -> Load:
        return Load(
            name,
            self.cluster.bootstrap,
            self.ledger,
            places,
            idempotent=idempotent,
            burst_seconds=self._burst_seconds,
            login=self.cluster.login,
        )

    def suffer(self, fault: "Callable[[World], None]") -> None:
        """At a random moment; every partition acknowledges again before this returns."""
        self.a_moment()
        print(f"fault: {fault.__name__}")
        begun = time.monotonic()
        fault(self)
        played = time.monotonic()
        self.until_progress()
        print(f"  played in {played - begun:.1f} s, all acknowledge {time.monotonic() - played:.1f} s later")

    # -- for faults --------------------------------------------------------------------------------------------------

    def any_place(self) -> Place:
        return self.rng.choice(self.places)

    def any_broker(self) -> int:
        return self.rng.choice(self.cluster.ids)

    def any_leader(self) -> int:
        return self.cluster.leader(self.any_place())

    def a_moment(self, least: float = 0.0, most: float = 0.5) -> None:
        time.sleep(self.rng.uniform(least, most))

    def until_progress(self, places: list[Place] | None = None) -> None:
        """Every partition (of these) acknowledges something that was written after this call."""
        wanted = self.places if places is None else places
        load = self.loads[1]
        sent = load.sent

        def silent() -> list[Place]:
            return [place for place in wanted if load.newest_ack[place] < sent]

        until(lambda: not silent(), seconds=CALM_SECONDS, otherwise=lambda: self._story(silent()))

    def _story(self, silent: list[Place]) -> str:
        newest = {load.name: dict(load.newest_ack) for load in self.loads}
        return f"no acks on {silent}\n{self.cluster.described(self.places)}\nnewest acks: {newest}"

    # -- the calm ----------------------------------------------------------------------------------------------------

    def judge(self) -> None:
        cluster = self.cluster
        cluster.until_whole(self.places)
        self.until_progress()
        for client in (*self.loads, *self.guests):
            client.stop() if isinstance(client, Load) else client.end()
        failures = [failure for client in (*self.loads, *self.watches, *self.guests) for failure in client.failures]
        assert failures == [], _some(failures)
        found = read_all(cluster.bootstrap, self.places, login=cluster.login)
        broken = self.ledger.check(found, [load.name for load in self.loads if load.idempotent], one_leader=False)
        broken += [line for guest in self.guests for line in guest.check()]
        broken += [line for watch in self.watches for line in self._judge_watch(watch, found)]
        assert broken == [], _some(broken)
        cluster.until_whole(self.places)
        cluster.stop(*cluster.ids)
        unlike = differences({broker: cluster.folder(broker) for broker in cluster.ids}, self.places)
        assert unlike == [], _some(unlike)
        self._note_gaps()

    def _judge_watch(self, watch: Watch, found: Mapping[Place, list[Found]]) -> list[str]:
        watch.stop()
        assert watch.count > 0
        return watch.check(found) + watch.failures

    def _note_gaps(self) -> None:
        longest = max(self.loads[1].longest_gap.values())
        for guest in self.guests:
            print(f"{guest.name}: {guest.done} pieces of work")
        print(f"{self.ledger.count} acks; the longest gap of a partition was {longest:.2f} s")


def _some(lines: list[str]) -> str:
    return "\n".join([f"{len(lines)} in all", *lines[:10]])
