"""One run: a cluster under load, a storm of faults with safety checked after each, then a calm in which all must recover.

    start ─▶ create topic ─▶ producers and consumers ─▶ storm: fault, check, fault, check … ─▶ heal ─▶ caught up? ─▶ read all

`run_storm(Plan(seed=123))` is the same run every time. A breach is in the outcome, not raised: the runner prints the seed
and the command that plays it again.
"""

import gc
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple

from headrace.cluster.entities import PartitionState
from headrace.wire.batch import iter_headers
from headrace.wire.records import read_records
from sim import limits
from sim.bounds import left_over, unthinned
from sim.checks import READ_BYTES, Breach, Checks, label
from sim.clients import Directory, Producer, create_topic
from sim.consumers import Consumer
from sim.crowd import Crowd
from sim.durability import hearings_noted
from sim.faults import SCENARIOS as OWN
from sim.faults import Fault, Faults
from sim.liveness import Liveness
from sim.mixed_clients import BulkProducer, ImpatientProducer
from sim.passing_clients import PassingClient
from sim.restored_stores import copy_store
from sim.scenarios import SCENARIOS, WIDE
from sim.topic_faults import DURABLE, RELAXED, pass_topic, replace_rotten
from sim.topic_faults import NAMES as PASSING
from sim.transactions import LEDGER, CommittedReader, Ledger, TransactionalProducer
from sim.wide_producer import WideProducer
from sim.world import LogLines, World

TOPIC = "orders"
START_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.25
LAST_REQUEST_SECONDS = 3.0
# A checkpoint a second late, and its way to the disk.
CHECKPOINT_SECONDS = 8.0
LEDGER_PARTITIONS = 2
RESTLESS_SHARE = 1 / 3
LARGE_SEGMENTS_SHARE = 1 / 4
# Of all faults, where topics come and go.
PASSING_SHARE = 0.5
# Longer than somebody stays away.
RESTLESS_SECONDS = 18.0
# A broker writes down every five seconds which revision of the store it has seen.
RESTORES_SECONDS = 25.0


class Plan(NamedTuple):
    seed: int = 1
    scenario: str = "mixed"
    brokers: int = 3
    seconds: float = 12.0
    partitions: int = 2
    producers: int = 2
    consumers: int = 3
    pace: float = 0.1
    """Mean seconds between a producer's batches of one partition."""
    gap: float = 1.5
    """Mean seconds between two faults."""
    topic_config: tuple[tuple[str, str], ...] = ()
    acks: int = -1
    others: tuple[str, ...] = ()
    """Producers of other habits: see `mixed_clients` and `wide_producer`."""
    is_narrow: bool = False
    """The scenario's own faults only: teeth are found sooner where nothing else happens."""
    calm: float = 90.0
    """Seconds in which everybody must have recovered."""
    snapshot_batches: int = 0
    producers_max: int = 0
    sessions_max: int = 0
    is_restless: bool = False
    """These four: see `limits`."""
    has_passing: bool = False
    """Topics that come and go are written and read too."""
    has_large_segments: bool = False
    """Of the default size: no roll in a storm, and cuts in the midst of a segment that holds the whole log."""

    @property
    def command(self) -> str:
        return f"make sim SEED={self.seed} SCENARIO={self.scenario} BROKERS={self.brokers}"


def plan_for(seed: int, scenario: str, brokers: int) -> Plan:
    """The seed decides the load and the topic too, so that a thousand seeds are not a thousand times the same cluster."""
    plan, rng = _load_for(seed, scenario, brokers), Random(f"limits {seed}")
    plan = plan._replace(
        snapshot_batches=rng.choice((0, 0, 5, 40)),
        producers_max=rng.choice((0, 0, 0, 24)),
        sessions_max=rng.choice((0, 0, 0, 2)),
        has_passing=scenario in WIDE and rng.random() < 0.5,
        has_large_segments=scenario in WIDE and rng.random() < LARGE_SEGMENTS_SHARE,
    )
    if scenario == "restores":
        return plan._replace(seconds=RESTORES_SECONDS)
    if scenario not in ("groups", "transactions") or rng.random() > RESTLESS_SHARE:
        return plan
    if scenario == "transactions":
        plan = plan._replace(producers=0, others=(), producers_max=0, has_passing=False)
    return plan._replace(is_restless=True, seconds=RESTLESS_SECONDS)


def _load_for(seed: int, scenario: str, brokers: int) -> Plan:
    rng = Random(f"plan {seed}")
    config = {"min.insync.replicas": rng.choice(("1", "2", "2", "2", "3"))} if brokers > 1 else {}
    if scenario == "relaxed":
        config["flush.messages"] = RELAXED
    if scenario == "hardening":
        config = {"min.insync.replicas": "2", "flush.messages": rng.choice((DURABLE, RELAXED))} if brokers > 1 else {}
        return Plan(seed, scenario, brokers, 12.0, 1, 4, 1, 0.02, 0.4, tuple(config.items()))
    if scenario in ("cuts", "lone-leaders"):
        return Plan(seed, scenario, brokers, 10.0, 1, 4, 1, 0.02, 0.6, tuple(config.items()))
    if scenario == "churn":
        return Plan(seed, scenario, brokers, 10.0, 1, 6, 1, 0.02, 0.4, (("min.insync.replicas", "2"),))
    return Plan(
        seed,
        scenario,
        brokers,
        partitions=rng.choice((1, 2, 2, 3)),
        producers=rng.choice((1, 2, 3)),
        pace=rng.choice((0.03, 0.1, 0.1, 0.3)),
        gap=rng.choice((0.7, 1.5, 1.5, 3.0)),
        topic_config=tuple(config.items()),
        # Alone, a broker's own sync is all there is.
        acks=rng.choice((-1, 1)) if brokers == 1 else -1,
        others=rng.choice(((), ("bulk",), ("impatient",), ("wide",), ("bulk", "impatient"), ("bulk", "wide"))),
    )


class Outcome(NamedTuple):
    plan: Plan
    breach: Breach | None
    digest: int
    acks: int
    reads: int
    steps: int
    seconds: float
    lines: list[str]

    def __str__(self) -> str:
        if self.breach is None:
            return (
                f"{self.plan.scenario} seed {self.plan.seed}: {self.acks} acks, {self.reads} reads, {self.steps} steps"
            )
        return f"{self.breach.invariant}: {self.breach.detail}\nplay it again: {self.plan.command}"


def run_storm(
    plan: Plan,
    verbose: bool = False,
    make: "Callable[[Plan, World, Checks], Storm] | None" = None,
    settings: Mapping[str, str] = {},
) -> Outcome:
    """`make` for storms with a load of their own, `settings` for the brokers they need."""
    make = make or _storm_for(plan)
    overrides = {**_overrides(plan), **limits.settings(plan), **settings}
    world = World(f"{plan.scenario}/{plan.brokers}/{plan.seed}", plan.brokers, overrides, verbose)
    checks = Checks(world)
    with heard(world, verbose), limits.within_reach(plan):
        make(plan, world, checks).run()
    return outcome_of(plan, world, checks)


@contextmanager
def heard(world: World, verbose: bool) -> Iterator[None]:
    """The brokers' log is part of the world's story; at the end the world ends too."""
    logger = logging.getLogger("headrace")
    handler = LogLines(world)
    before = (logger.level, logger.propagate)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    logger.propagate = False
    gc.disable()
    try:
        with hearings_noted():
            yield
    finally:
        world.end()
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
        gc.enable()


def outcome_of(plan: Plan, world: World, checks: Checks) -> Outcome:
    return Outcome(
        plan, checks.breach, world.digest, checks.acks, checks.reads, world.agenda.steps, world.agenda.now, world.lines
    )


def _overrides(plan: Plan) -> dict[str, str]:
    return {
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "log.retention.check.interval.ms": "1000",
        "group.min.session.timeout.ms": "1000",
        "group.initial.rebalance.delay.ms": "500",
        "group.consumer.session.timeout.ms": "6000",
        "group.consumer.heartbeat.interval.ms": "300",
    }


def _storm_for(plan: Plan) -> "Callable[[Plan, World, Checks], Storm]":
    if plan.scenario == "groups":
        # Storms over groups are storms with members added, so their file needs this one first.
        from sim.group_storm import storm_of_any_kind

        return storm_of_any_kind
    return Storm


class Storm:
    def __init__(self, plan: Plan, world: World, checks: Checks) -> None:
        self._plan = plan
        self._world = world
        self._checks = checks
        self._rng: Random = world.rng("storm")
        self._faults = Faults(world, checks, self._rng)
        self._liveness = Liveness(world, checks)
        self._producers: list[Producer | BulkProducer | WideProducer] = []
        self._consumers: list[Consumer] = []
        self._transactional: list[TransactionalProducer] = []
        self._committed_readers: list[CommittedReader] = []
        self._ledger = Ledger(checks)
        self._crowd: Crowd | None = None
        self._passing: list[PassingClient] = []

    def run(self) -> None:
        self._start()
        self._rage()
        self._calm()

    @property
    def _is_over(self) -> bool:
        return self._checks.breach is not None

    def _run(self, seconds: float) -> None:
        self._world.agenda.run(seconds)
        self._look()

    def _look(self) -> None:
        self._checks.inspect()
        self._liveness.look()

    def _start(self) -> None:
        world, plan = self._world, self._plan
        world.start_all()
        if not world.agenda.run(START_SECONDS_MAX, lambda: all(host.is_serving for host in world.hosts)):
            self._checks.inspect()
            self._checks.fail("caught-up", "the brokers do not start")
            return
        loop = world.client_loop("admin")
        work = create_topic(
            Directory(world, loop, world.rng("admin")),
            TOPIC,
            plan.partitions,
            min(3, plan.brokers),
            _topic_config(plan),
        )
        task = world.spawn(loop, work)
        if not world.agenda.run(START_SECONDS_MAX, task.done) or not self._can_be_written():
            self._checks.inspect()
            self._checks.fail("caught-up", "a topic cannot be created")
            return
        task.result()
        self._producers = [
            Producer(world, self._checks, number, TOPIC, plan.partitions, plan.pace, plan.acks)
            for number in range(plan.producers)
        ]
        self._producers += self._other_producers()
        self._consumers = [
            Consumer(world, self._checks, number, TOPIC, plan.partitions) for number in range(plan.consumers)
        ]
        if plan.has_passing:
            self._passing = [PassingClient(world, self._checks, name) for name in PASSING]
            pass_topic(self._faults)
        if plan.producers_max:
            self._crowd = Crowd(world, self._checks, TOPIC, plan.partitions, plan.producers_max)
        if plan.scenario == "transactions":
            self._start_transactions()

    def _other_producers(self) -> list[Producer | BulkProducer | WideProducer]:
        """Of other habits, at a slower pace: the storm must stay short."""
        world, plan, checks = self._world, self._plan, self._checks
        pace = max(0.1, plan.pace) * 2
        found: list[Producer | BulkProducer | WideProducer] = []
        if "bulk" in plan.others:
            found.append(BulkProducer(world, checks, 0, TOPIC, plan.partitions, pace))
        if "impatient" in plan.others:
            found.append(ImpatientProducer(world, checks, 90, TOPIC, plan.partitions, pace, plan.acks))
        if "wide" in plan.others:
            found.append(WideProducer(world, checks, 0, TOPIC, plan.partitions, pace))
        return found

    def _start_transactions(self) -> None:
        world, plan = self._world, self._plan
        loop = world.client_loop("ledger admin")
        directory = Directory(world, loop, world.rng("ledger admin"))
        factor = min(3, plan.brokers)
        world.spawn(loop, create_topic(directory, LEDGER, LEDGER_PARTITIONS, factor, dict(plan.topic_config)))
        # The last two share an id.
        self._transactional = [
            TransactionalProducer(world, self._ledger, number, name, LEDGER_PARTITIONS, plan.pace)
            for number, name in enumerate(("first", "second", "shared", "shared"))
        ]
        self._committed_readers = [
            CommittedReader(world, self._checks, self._ledger, index, rack)
            for rack in ("", "rack 1")
            for index in range(LEDGER_PARTITIONS)
        ]

    def _can_be_written(self) -> bool:
        return self._world.agenda.run(START_SECONDS_MAX, lambda: TOPIC in self._checks.image().topics)

    def _rage(self) -> None:
        world, plan, rng = self._world, self._plan, self._rng
        faults = {**(OWN if plan.is_narrow else SCENARIOS)[plan.scenario]}
        if plan.has_passing:
            faults[pass_topic] = sum(faults.values()) * PASSING_SHARE
        kinds: list[Fault] = list(faults)
        weights = list(faults.values())
        self._run(rng.uniform(0.5, 2.0))
        end = world.agenda.now + plan.seconds
        due = world.agenda.now
        copy_store(self._faults)
        if plan.is_restless and plan.brokers > 1:
            self._faults.stay_away()
        while world.agenda.now < end and not self._is_over:
            if world.agenda.now >= due:
                rng.choices(kinds, weights)[0](self._faults)
                self._look()
                due = world.agenda.now + rng.expovariate(1 / plan.gap)
            self._run(min(LOOK_SECONDS, max(0.001, due - world.agenda.now)))

    def _calm(self) -> None:
        if self._is_over:
            return
        world = self._world
        self._faults.heal()
        for producer in [*self._producers, *self._transactional, *self._passing]:
            producer.stopping = True
        end = world.agenda.now + self._plan.calm
        while not self._is_over and (missing := self._missing()):
            if world.agenda.now >= end:
                self._checks.fail("caught-up", f"after {self._plan.calm:.0f} s of calm: {missing}")
            self._run(LOOK_SECONDS)
        if not self._is_over:
            self._checks.inspect()
            self._look_for_the_left_over()
            self._look_for_relapses()
        if not self._is_over:
            self._read_all()
            self._ledger.on_final()

    def _look_for_the_left_over(self) -> None:
        """A moment later: who gave up waits for no longer than its request allows."""
        self._run(LAST_REQUEST_SECONDS)
        for host in self._world.hosts:
            if found := left_over(host):
                self._checks.fail("bounded", found)
        if not self._is_over and not self._world.agenda.run(CHECKPOINT_SECONDS, lambda: not self._unthinned()):
            self._checks.fail("bounded", self._unthinned())

    def _unthinned(self) -> str:
        return next(filter(None, map(unthinned, self._world.hosts)), "")

    def _look_for_relapses(self) -> None:
        """Nothing goes wrong any more, so what had recovered stays so; members of groups still write, a moment apart."""
        if not self._is_over and not self._world.agenda.run(LAST_REQUEST_SECONDS, lambda: not self._missing()):
            self._checks.fail("caught-up", f"all was well, and then: {self._missing()}")

    def _missing(self) -> str:
        """What is still to come before everybody has recovered; nothing when they have."""
        if not replace_rotten(self._faults):
            return f"rot has to wait: {list(self._faults.to_replace)}"
        if not self._faults.are_admins_done:
            return "an administrator still asks for something"
        for host in self._world.hosts:
            if not host.is_serving or host.is_stopping:
                return f"{host.name} does not serve"
        for name in (TOPIC, *PASSING):
            topic = self._checks.image().topics.get(name)
            for index, state in enumerate(topic.partitions if topic is not None else ()):
                if behind := self._behind(name, index, state):
                    return behind
        for producer in [*self._producers, *self._transactional, *self._passing]:
            if not producer.is_done:
                return f"producer {producer.name} is not done"
        if self._crowd is not None and not self._crowd.is_done:
            self._crowd.rush()
            return "not everybody has come and gone"
        return self._undecided() or self._unstable()

    def _unstable(self) -> str:
        """A replica that does not know of the end of a transaction: who reads committed records there never goes on."""
        for topic in self._checks.image().topics.values():
            for index, state in enumerate(topic.partitions):
                for broker_id in state.replicas:
                    replica = self._world.hosts[broker_id - 1].partition(topic.name, index)
                    if replica is None or replica.reads.last_stable_offset != replica.log.end_offset:
                        where = "absent" if replica is None else f"stable up to {replica.reads.last_stable_offset}"
                        return f"{topic.name}-{index} on broker {broker_id} is {where}"
        return ""

    def _undecided(self) -> str:
        """Where a transaction hangs: its readers never come to the end, on any replica."""
        for number, reader in enumerate(self._committed_readers):
            index = number % LEDGER_PARTITIONS
            state = self._checks.state(LEDGER, index)
            leader = self._world.hosts[state.leader - 1].partition(LEDGER, index) if state.leader > 0 else None
            if leader is None or reader.position != leader.log.end_offset:
                end = "nowhere" if leader is None else leader.log.end_offset
                return f"{LEDGER}-{index} ends at {end}, its committed reader is at {reader.position}"
        return ""

    def _behind(self, topic: str, index: int, state: PartitionState) -> str:
        name = f"{topic}-{index}"
        if state.adding or state.removing:
            return f"{name} is being moved: {state}"
        if state.leader < 0 or len(state.isr) < len(state.replicas):
            return f"{name} has leader {state.leader}, replicas {state.replicas}, in sync {state.isr}"
        leader = self._world.hosts[state.leader - 1].partition(topic, index)
        if leader is None or not leader.is_leader:
            return f"{name} is not led by broker {state.leader}"
        end = leader.log.end_offset
        for broker_id in state.replicas:
            replica = self._world.hosts[broker_id - 1].partition(topic, index)
            if replica is None or (replica.log.end_offset, replica.high_watermark) != (end, end):
                where = "absent" if replica is None else f"at {replica.high_watermark}/{replica.log.end_offset}"
                return f"{name} ends at {end}, on broker {broker_id} it is {where}"
        for consumer in self._consumers if topic == TOPIC else ():
            if consumer.positions[index] != end:
                return f"{name} ends at {end}, consumer {consumer.name} is at {consumer.positions[index]}"
        return ""

    def _read_all(self) -> None:
        """The last word: the leader's log, record by record, against everything that was sent and acknowledged."""
        # Retention goes on, also since the last look.
        self._checks.inspect()
        topics = self._checks.image().topics
        labels = {TOPIC: TOPIC} | {name: label(name, topics[name].id) for name in PASSING if name in topics}
        for name, labelled in labels.items():
            for index, state in enumerate(topics[name].partitions):
                leader = self._world.hosts[state.leader - 1].partition(name, index)
                self._checks.on_final(labelled, index, _records(leader))


def _records(partition: Any) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    offset = partition.log.start_offset
    while (part := partition.log.reader.read(offset, READ_BYTES, partition.log.end_offset)) is not None:
        content = part.read()
        part.release()
        for position, header in iter_headers(content):
            for record in read_records(content[position : position + header.size]):
                found[record.offset] = record.value or b""
        offset = part.next_offset
    return found


def _topic_config(plan: Plan) -> dict[str, str]:
    """Segments that last seconds, so that rolls happen under fire; or of the default size."""
    rolls = {} if plan.has_large_segments else {"segment.ms": "2500"}
    return {**rolls, **dict(plan.topic_config)}
