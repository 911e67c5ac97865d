"""A small cluster for a story that a test tells step by step, where a storm would leave the steps to chance."""

from collections.abc import Mapping
from random import Random
from typing import Any

from sim.checks import Checks
from sim.clients import Directory, Producer, create_topic
from sim.world import World

TOPIC = "orders"
LEASE_SECONDS = 2.0


class Cluster:
    """A few brokers, and clients when they are asked for."""

    def __init__(
        self, brokers: int, seed: str = "found", settings: Mapping[str, str] = {}, verbose: bool = False
    ) -> None:
        self.world = World(seed, brokers, {"auto.create.topics.enable": "false", **settings}, verbose)
        self.checks = Checks(self.world)
        self.agenda = self.world.agenda

    def start(self) -> None:
        self.world.start_all()
        self.until(lambda: all(host.is_serving for host in self.world.hosts))

    def run(self, seconds: float) -> None:
        self.agenda.run(seconds)
        self.checks.inspect()
        assert self.checks.breach is None, self.checks.breach

    def until(self, done: Any) -> None:
        reached = self.agenda.run(30.0, done)
        self.checks.inspect()
        assert self.checks.breach is None, self.checks.breach
        if not reached:
            self.checks.fail("caught-up", "what should follow does not come to pass")
        assert reached, "it does not come to pass"

    def create_topic(self, factor: int = 3, **config: str) -> None:
        loop = self.world.client_loop("admin")
        settings = {name.replace("_", "."): value for name, value in config.items()}
        factor = min(factor, len(self.world.hosts))
        work = create_topic(Directory(self.world, loop, Random(1)), TOPIC, 1, factor, settings)
        self.until(self.world.spawn(loop, work).done)

    @property
    def state(self) -> Any:
        return self.checks.state(TOPIC, 0)

    def partition(self, broker_id: int) -> Any:
        return self.world.hosts[broker_id - 1].partition(TOPIC, 0)

    def produce(self, seconds: float) -> None:
        producer = Producer(self.world, self.checks, len(self.world.loops), TOPIC, 1, pace=0.05)
        self.run(seconds)
        producer.stopping = True
        self.until(lambda: producer.is_done)
