"""Stories: a busy cluster to which a few things happen in one order, told with other timings by every seed.

A storm plays one for a mutant whose rule only this order needs (`told`), and a test plays it on the real code, where it has
to end well. What happens to the store on the way of a commit is done to one broker's `SimStore`:

    LostCommit   gets no answer, and lands late or never
    HeldCommit   is on its way for a while, and lands, or conflicts, then
    HeldNews     what the broker hears of the store comes late
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf
from random import Random
from typing import NamedTuple

from headrace.base.errors import StoreUnreachable
from headrace.cluster import elect
from headrace.cluster.entities import PartitionState
from headrace.cluster.records import TopicRecord, encode, partition_key, topic_key
from headrace.cluster.store import Conflict
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest
from sim.clients import CREATE_TOPICS, Producer
from sim.cluster import TOPIC, Cluster
from sim.host import PORT, Host
from sim.liveness import Liveness
from sim.store import SimStore
from sim.storm import Outcome, Plan, heard, outcome_of
from sim.wireclient import WireClient
from sim.world import World

LOOK_SECONDS = 0.25
LOST_SECONDS = 0.5
PACE = 0.02
MIN_TWO: Mapping[str, str] = {"min_insync_replicas": "2"}
PARTITION_PREFIX = partition_key(bytes(16), 0).split("/")[0]


def _is_of_a_partition(puts: Mapping[str, bytes | None]) -> bool:
    return any(key.startswith(PARTITION_PREFIX) for key in puts)


class LostCommit:
    """The next change of the partition that a broker commits gets no answer, and lands late or never. Nor is it answered
    for a while when it asks again: until the producers have sent all that they may."""

    def __init__(
        self, world: World, store: SimStore, lands_after: float | None, lost_seconds: float = LOST_SECONDS
    ) -> None:
        self.is_lost = False
        self.has_landed = False
        self._world = world
        self._lands_after = lands_after
        self._lost_seconds = lost_seconds
        self._until = inf
        self._commit = store.commit
        store.commit = self._lose  # type: ignore[method-assign]

    async def _lose(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        if not _is_of_a_partition(puts) or self._until <= self._world.agenda.now:
            return await self._commit(puts, expect)
        if not self.is_lost:
            self._until = self._world.agenda.now + self._lost_seconds
        if not self.is_lost and self._lands_after is not None:
            self._world.agenda.after(self._lands_after, self._land, puts, expect)
        self.is_lost = True
        raise StoreUnreachable("the answer is lost")

    def _land(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> None:
        self.has_landed = True
        with suppress(Conflict):
            self._world.shelf.commit(puts, expect)


class HeldCommit:
    """The next change of the partition that a broker commits takes its time to the store."""

    def __init__(self, store: SimStore, seconds: float) -> None:
        self.is_sent = False
        self.is_done = False
        self._seconds = seconds
        self._commit = store.commit
        store.commit = self._hold  # type: ignore[method-assign]

    async def _hold(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        if self.is_sent or not _is_of_a_partition(puts):
            return await self._commit(puts, expect)
        self.is_sent = True
        await asyncio.sleep(self._seconds)
        self.is_done = True
        return await self._commit(puts, expect)


class HeldNews:
    """What a broker hears of the store, but for leases, waits until it is let go: one commit, or all."""

    def __init__(self, store: SimStore) -> None:
        self._is_held = True
        self._turns = asyncio.Semaphore(0)
        self._hear = store._until_news
        store._until_news = self._wait  # type: ignore[method-assign]

    async def _wait(self) -> None:
        if self._is_held:
            await self._turns.acquire()
        await self._hear()

    def let_one_pass(self) -> None:
        self._turns.release()

    def let_go(self) -> None:
        self._is_held = False
        self.let_one_pass()


class BusyCluster(Cluster):
    """Three brokers, a topic of one partition, producers that always wait for acks, and a watch over those."""

    def __init__(
        self,
        seed: str = "found",
        settings: Mapping[str, str] = {},
        topic_config: Mapping[str, str] = MIN_TWO,
        verbose: bool = False,
    ) -> None:
        super().__init__(3, seed, settings, verbose)
        self.liveness = Liveness(self.world, self.checks)
        self.rng: Random = self.world.rng("story")
        self.producers: list[Producer] = []
        self._topic_config = topic_config

    def begin(self) -> None:
        for host in self.world.hosts:
            host.slowness = host.usual_slowness = 1.0
        self.start()
        self.create_topic(**self._topic_config)
        self.add_producers(3)
        self.watch(1.0)

    def add_producers(self, count: int) -> None:
        first = len(self.producers)
        self.producers += [Producer(self.world, self.checks, first + each, TOPIC, 1, PACE) for each in range(count)]

    def stop_producers(self) -> None:
        for producer in self.producers:
            producer.stopping = True
        self.until(lambda: all(producer.is_done for producer in self.producers))

    def watch(self, seconds: float) -> None:
        for _ in range(max(1, int(seconds / LOOK_SECONDS))):
            self.run(min(seconds, LOOK_SECONDS))
            self.liveness.look()
            assert self.checks.breach is None, self.checks.breach

    def expect_soon(self, what: str, is_so: Callable[[], bool], seconds: float = 15.0) -> None:
        """Something that acks need, and that has to come to pass though not all brokers are well."""
        if not self.agenda.run(seconds, is_so):
            self.checks.fail("goes-on", f"not within {seconds:.0f} s: {what}; {self.state}")
        self.run(0.01)

    # -- who is who --------------------------------------------------------------------------------------------------

    @property
    def leader(self) -> Host:
        return self.world.hosts[self.state.leader - 1]

    @property
    def followers(self) -> list[int]:
        return [each for each in self.state.replicas if each != self.state.leader]

    @property
    def follower_hosts(self) -> list[Host]:
        return [self.world.hosts[each - 1] for each in self.followers]

    # -- what happens to brokers ---------------------------------------------------------------------------------------

    def kill(self, host: Host) -> None:
        """And everybody knows at once, as by its lock."""
        self.world.kill(host)
        leases = self.world.shelf.leases
        leases.pop(f"broker/{host.id}", None)
        if "controller" in leases and leases["controller"][0].holder == str(host.id):
            del leases["controller"]
        self.world.shelf.wake()

    def let_die(self, host: Host) -> None:
        """Its leader hears of it when all producers wait, and before its lease would have ended: by its lock."""
        self.world.kill(host)
        self.run(LOST_SECONDS - 0.05)
        self.world.shelf.leases.pop(f"broker/{host.id}", None)
        self.world.shelf.wake()

    def kill_a_follower(self) -> Host:
        """It leaves the in-sync set."""
        host = self.follower_hosts[0]
        self.world.kill(host)
        self.until(lambda: host.id not in self.state.isr)
        return host

    def cut_off(self, host: Host, *others: Host) -> None:
        """From these brokers, or all; the store and the clients still reach it."""
        for other in others or [each for each in self.world.hosts if each is not host]:
            self.world.network.cut(host.address, other.address)
            self.world.network.cut(other.address, host.address)

    def mend(self, one: Host, other: Host) -> None:
        self.world.network.mend(one.address, other.address)
        self.world.network.mend(other.address, one.address)

    def lose_the_commit_of_a_joiner(self, lands_after: float | None) -> tuple[Host, LostCommit]:
        """A follower that was killed is back and proposed; the store does not answer. None lands never."""
        joiner = self.kill_a_follower()
        assert self.leader.store is not None
        lost = LostCommit(self.world, self.leader.store, lands_after)
        self.world.start(joiner)
        self.until(lambda: lost.is_lost)
        return joiner, lost

    def hold_news(self, host: Host) -> HeldNews:
        assert host.store is not None
        return HeldNews(host.store)

    def ask_for_too_many_replicas(self, host: Host) -> None:
        """Refused, after the broker has loaded the metadata to see who is there."""
        request = CreateTopicsRequest([CreatableTopic("never", 1, 99)], timeout_ms=3000)
        loop = self.world.client_loop("optimist")

        async def ask() -> None:
            link = await WireClient.open(loop, (host.address, PORT))
            await link.ask(request, CREATE_TOPICS, 5.0)
            link.close()

        self.until(self.world.spawn(loop, ask()).done)

    # -- what is decided -----------------------------------------------------------------------------------------------

    def decide(self, leader: Host) -> None:
        """An election among those in sync, as a controller commits it when it is asked for one."""
        state = self.state
        assert leader.id in state.isr, (leader.id, state)
        self._commit_state(elect.lead(state, leader.id))

    def _commit_state(self, state: PartitionState) -> None:
        key = partition_key(self.checks.image().topics[TOPIC].id, 0)
        self.world.shelf.commit({key: encode(state)}, {key: self.state.revision})

    def set_topic(self, **settings: str) -> None:
        topic = self.checks.image().topics[TOPIC]
        changed = {**topic.config, **{name.replace("_", "."): value for name, value in settings.items()}}
        record = TopicRecord(topic.id, len(topic.partitions), changed)
        self.world.shelf.commit({topic_key(TOPIC): encode(record)}, {topic_key(TOPIC): topic.revision})


class Story(NamedTuple):
    tell: Callable[[BusyCluster], None]
    settings: Mapping[str, str] = {}
    topic_config: Mapping[str, str] = MIN_TWO

    @property
    def plan(self) -> Plan:
        return Plan(scenario=self.tell.__name__.replace("_", "-"))

    def play(self, plan: Plan, verbose: bool = False) -> Outcome:
        """As a storm is played: a breach is in the outcome."""
        cluster = BusyCluster(f"{self.tell.__name__}/{plan.seed}", self.settings, self.topic_config, verbose)
        with heard(cluster.world, verbose):
            try:
                cluster.begin()
                self.tell(cluster)
            except AssertionError:
                if cluster.checks.breach is None:
                    raise
        return outcome_of(plan, cluster.world, cluster.checks)
