"""What is done to a broker so that it hangs and yet lives: its disk, or all of it by the kernel's freezer.

Others must acknowledge while it hangs, and when it goes on nothing may be lost.
"""

from collections.abc import Callable

from chaos.faults import PAUSE_SECONDS, Fault
from chaos.hung_disks import HungDisks
from chaos.world import World

HangFault = Callable[[World, HungDisks], None]


def on(disks: HungDisks, fault: HangFault) -> Fault:
    """As a fault of the world that stands on these disks."""

    def play(world: World) -> None:
        fault(world, disks)

    play.__name__ = fault.__name__
    return play


def hang_leader_disk(world: World, disks: HungDisks) -> None:
    """Others lead before the disk goes on."""
    with disks.hanging(world.any_leader()):
        world.until_progress()
        world.a_moment(0, 2)


def hang_any_disk(world: World, disks: HungDisks) -> None:
    """For less than a lease, or more."""
    with disks.hanging(world.any_broker()):
        world.a_moment(*PAUSE_SECONDS)


def hang_disk_and_kill(world: World, disks: HungDisks) -> None:
    """The one with the hung disk is killed, which takes hold only when its disk goes on."""
    victim = world.any_leader()
    with disks.hanging(victim):
        world.until_progress()
    world.cluster.kill(victim)
    world.until_progress()
    world.cluster.start(victim)


def hang_disk_and_kill_another(world: World, disks: HungDisks) -> None:
    """Two of three are gone; when the disk goes on, its broker is the second that is needed."""
    hung = world.any_leader()
    another = world.rng.choice([each for each in world.cluster.ids if each != hung])
    with disks.hanging(hung):
        world.until_progress()
        world.cluster.kill(another)
        world.a_moment(0, 3)
    world.until_progress()
    world.cluster.start(another)


def freeze_leader(world: World) -> None:
    """As `docker pause` does, until others lead."""
    victim = world.any_leader()
    world.cluster.freeze(victim)
    try:
        world.until_progress()
        world.a_moment(0, 3)
    finally:
        world.cluster.resume(victim)


HANG_FAULTS: tuple[HangFault, ...] = (
    hang_leader_disk,
    hang_any_disk,
    hang_disk_and_kill,
    hang_disk_and_kill_another,
)
