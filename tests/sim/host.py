"""One machine of the simulated world: a disk that outlives everything, a clock of its own, and the broker on it.

    start ─▶ running ──kill (the process: its page cache lives) / lose_power (the machine)──▶ down ─▶ start …
                └──pause──▶ standing still ──resume──┘

A death takes the disk away first, then the network, then the loop: whatever the dying process had left to do has no
effect any more. A broker that stops by itself is started again a little later, as a supervisor would.
"""

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from headrace.base.clock import Now
from headrace.base.errors import DiskFailed, DiskTooSlow
from headrace.broker.node import Node, NodeSettings
from sim.cleaning import SimCleaning
from sim.disk import SimDisk
from sim.loop import Agenda, HostLoop
from sim.store import SimStore

if TYPE_CHECKING:
    from sim.world import World

WALL_START = 1_700_000_000.0
DAY_SECONDS = 86_400.0
PORT = 9092
SLOW_WORK_SECONDS = 0.5


class SimClock:
    """Monotonic from a start of its own, wall time that may be wrong, and a name for each boot."""

    def __init__(self, agenda: Agenda, name: str, since: float = 0.0) -> None:
        self.skew = 0.0
        self.days = 0.0
        """So far ahead it was set since its broker started; whoever starts a broker looks at the clock."""
        self.boots = 0
        self._agenda = agenda
        self._name = name
        self._since = since

    def now(self) -> Now:
        now = self._agenda.now
        return Now(now + self._since, int((WALL_START + now + self.skew + self.days * DAY_SECONDS) * 1000))

    def mono(self) -> float:
        return self._agenda.now + self._since

    def boot_id(self) -> str:
        return f"{self._name} boot {self.boots}"


class Host:
    loop: HostLoop

    def __init__(self, world: "World", broker_id: int, rng: Random) -> None:
        self.id = broker_id
        self.name = f"broker {broker_id}"
        self.address = f"10.0.0.{broker_id}"
        self.disk = SimDisk()
        self.clock = SimClock(world.agenda, self.name, rng.uniform(0, 1e6))
        self.clock.skew = rng.uniform(-1, 1) * rng.choice((0.0, 1.0, 3600.0))
        # Some disks are slower than others, all the time; a storm makes one slower for a while.
        self.usual_slowness = rng.choice((1.0, 1.0, 5.0, 20.0))
        self.slowness = self.usual_slowness
        self.is_hurt = False
        self.was_slow = False
        self.disk_hangs = False
        # A sync that was begun on a slow disk takes its time, though the disk is quick again.
        self.slow_until = 0.0
        self.node: Node | None = None
        self.store: SimStore | None = None
        self.store_is_cut = False
        self.is_serving = False
        self.is_stopping = False
        self.lives = 0
        self._world = world
        self._rng = rng

    @property
    def is_up(self) -> bool:
        return self.node is not None

    def work_seconds(self) -> float:
        """How long a thread takes for a sync or a small file."""
        random = self._rng.random
        seconds = 0.0003 + 0.002 * random()
        if random() < 0.02:
            seconds += 0.1 * random()
        seconds *= self.slowness
        if seconds > SLOW_WORK_SECONDS:
            self.slow_until = max(self.slow_until, self._world.agenda.now + seconds)
        return seconds

    def start(self) -> None:
        assert self.node is None, f"{self.name} runs"
        world = self._world
        self.lives += 1
        self.clock.days = 0.0
        world.network.light(self.address)
        self.loop = HostLoop(
            self.name,
            self.address,
            world.agenda,
            world.network,
            self.work_seconds,
            world.on_loop_error,
            self._rng.uniform(0, 1e6),
        )
        self.loop.hung = lambda: self.disk_hangs
        world.loops.append(self.loop)
        self.store = SimStore(world.shelf, world.store_clock, self._rng, world.slow_commits)
        self.store.is_cut = self.store_is_cut
        settings = NodeSettings(
            self.id,
            "/data",
            self.address,
            PORT,
            metrics_port=None,
            overrides=world.overrides,
            rack=f"rack {self.id % 3}",
        )
        disk = self.disk.mount()
        self.node = Node(
            settings,
            disk=disk,
            clock=self.clock,
            store=self.store,
            rng=Random(self._rng.random()),
            begin_cleaning=partial(SimCleaning, disk),
        )
        self.loop.create_task(self._supervise(self.node, self.lives), name="main")

    async def _supervise(self, node: Node, life: int) -> None:
        world = self._world
        try:
            await node.start()
            self.is_serving = True
            world.say(self.name, "serves")
            await node.until_stopped()
            cause: BaseException | None = None
        except Exception as error:
            cause = error
        world.agenda.soon(self._on_exit, life, cause)

    def _on_exit(self, life: int, cause: BaseException | None) -> None:
        if life == self.lives and self.node is not None:
            self._world.on_exit(self, cause)

    def kill(self) -> None:
        self._end(dark=False)

    def lose_power(self) -> None:
        self._end(dark=True)
        self.disk.crash(self._rng)
        self.clock.boots += 1

    def _end(self, dark: bool) -> None:
        if self.node is None:
            return
        self._world.on_death(self)
        self.disk.kill()
        self._world.network.drop(self.loop, dark)
        self.loop.die()
        self.node = self.store = None
        self.is_serving = self.is_stopping = False

    def cut_store(self, is_cut: bool) -> None:
        self.store_is_cut = is_cut
        if self.store is not None:
            self.store.is_cut = is_cut

    def partitions(self) -> list[Any]:
        """What the running broker hosts; nothing before it has opened its logs."""
        if self.node is None:
            return []
        broker = getattr(self.node, "broker", None)
        partitions = getattr(broker, "partitions", None)
        return [] if partitions is None else list(partitions)

    def partition(self, topic: str, index: int) -> Any:
        partitions = getattr(getattr(self.node, "broker", None), "partitions", None)
        return None if partitions is None else partitions.find(topic, index)

    @property
    def answers(self) -> bool:
        """Registered and not fenced: only then does what it believes of itself reach anybody."""
        return self.is_serving and self.node is not None and not self.node.broker.partitions.is_fenced

    def disk_was_hurt(self, cause: BaseException) -> bool:
        return (self.is_hurt and isinstance(cause, DiskFailed)) or (self.was_slow and isinstance(cause, DiskTooSlow))
