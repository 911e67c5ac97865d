"""What is done to the processes of a cluster, by name: each picks its victims by the world's chance, and mends them again.

Where a majority lives on, every partition must acknowledge again before the victims come back: fail-over, not patience.
"""

import time
from collections.abc import Callable

from chaos.world import World

Fault = Callable[[World], None]

# A lease is 2 s: some of these pauses end within it, most of them after others have taken over.
PAUSE_SECONDS = (1.0, 6.0)


def kill_leader(world: World) -> None:
    _kill_one(world, world.any_leader())


def kill_controller(world: World) -> None:
    _kill_one(world, world.cluster.controller())


def _kill_one(world: World, victim: int) -> None:
    world.cluster.kill(victim)
    world.until_progress()
    world.a_moment()
    world.cluster.start(victim)


def kill_leader_and_controller(world: World) -> None:
    """Two of three at once: nothing more is acknowledged until one of them is back."""
    controller = world.cluster.controller()
    leader = next(
        (each for each in map(world.cluster.leader, world.places) if each != controller), _another(world, controller)
    )
    world.cluster.kill(leader, controller)
    world.a_moment(0, 3)
    back = world.rng.sample([leader, controller], k=2)
    world.cluster.start(back[0])
    world.until_progress()
    world.cluster.start(back[1])


def _another(world: World, than: int) -> int:
    return world.rng.choice([each for each in world.cluster.ids if each != than])


def kill_all(world: World) -> None:
    world.cluster.kill(*world.cluster.ids)
    world.a_moment()
    world.cluster.start(*world.rng.sample(world.cluster.ids, k=len(world.cluster.ids)))


def pause_leader(world: World) -> None:
    _pause_one(world, world.any_leader())


def pause_controller(world: World) -> None:
    _pause_one(world, world.cluster.controller())


def _pause_one(world: World, victim: int) -> None:
    """A zombie: it wakes up believing that nothing has happened."""
    world.cluster.pause(victim)
    time.sleep(world.rng.uniform(*PAUSE_SECONDS))
    world.cluster.resume(victim)


def pause_in_a_write(world: World) -> None:
    """Frozen with the lock of the embedded store: the others end it, or nobody could take over."""
    sleeper = world.cluster.controller()
    world.cluster.pause_in_a_write(sleeper)
    world.until_progress()
    world.cluster.resume(sleeper)


def pause_and_kill(world: World) -> None:
    """A leader sleeps, another takes over and is killed, and the sleeper wakes up among the dead."""
    sleeper = world.any_leader()
    world.cluster.pause(sleeper)
    world.until_progress()
    victim = _another(world, sleeper)
    world.cluster.kill(victim)
    world.a_moment()
    world.cluster.resume(sleeper)
    world.a_moment()
    world.cluster.start(victim)


def pause_two_and_kill(world: World) -> None:
    """Two leases run out, and before those two are in sync again one of them is killed."""
    sleepers = world.rng.sample(world.cluster.ids, k=2)
    for broker in sleepers:
        world.cluster.pause(broker)
    time.sleep(world.rng.uniform(2, 4))
    for broker in sleepers:
        world.cluster.resume(broker)
    world.a_moment(0, 1)
    world.cluster.kill(sleepers[0])
    world.until_progress()
    world.cluster.start(sleepers[0])


def pause_all(world: World) -> None:
    """Every lease runs out while nobody looks."""
    for broker in world.cluster.ids:
        world.cluster.pause(broker)
    time.sleep(world.rng.uniform(2, 3))
    for broker in world.rng.sample(world.cluster.ids, k=len(world.cluster.ids)):
        world.cluster.resume(broker)


def bounce_leader(world: World) -> None:
    _bounce(world, world.any_leader())


def _bounce(world: World, victim: int) -> None:
    world.cluster.stop(victim)
    world.until_progress()
    world.cluster.start(victim)


def bounce_each(world: World) -> None:
    """A rolling restart: each waits for its place in the in-sync sets before the next one goes."""
    for broker in world.cluster.ids:
        world.cluster.until_whole(world.places)
        _bounce(world, broker)


def bounce_all(world: World) -> None:
    world.cluster.stop(*world.cluster.ids)
    world.cluster.start(*world.rng.sample(world.cluster.ids, k=len(world.cluster.ids)))


PROCESS_FAULTS: tuple[Fault, ...] = (
    kill_leader,
    kill_controller,
    kill_leader_and_controller,
    kill_all,
    pause_leader,
    pause_controller,
    pause_and_kill,
    pause_two_and_kill,
    pause_all,
    bounce_leader,
    bounce_each,
    bounce_all,
)

SQLITE_FAULTS: tuple[Fault, ...] = (*PROCESS_FAULTS, pause_in_a_write)
