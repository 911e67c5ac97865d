"""Faults of disks beyond a slow one and a failed sync: one that hangs, one that fails for a while, one that is full.

hang_disk                 nothing that is given to a thread comes back, for up to hundreds of seconds
flap_disk                 all syncs and small files fail for a moment, then all is well: what a broker does in its last
                          moments fails too, and what it left in the page cache looks sound to its next life
kill_after_failed_sync    the process dies before it could write down that a sync has failed
fill_to_the_last_byte     not a byte is left, for a while
fill_leaders_disk         the leader has no room for so long that others must lead; followers' copies may still fit
add_topic                 a new topic on all brokers: to open it takes every disk, those that hang too
"""

from typing import TYPE_CHECKING, Final

from sim.clients import create_topic
from sim.host import Host

if TYPE_CHECKING:
    from sim.faults import Faults

HANG_SECONDS: Final = (0.5, 3.0, 10.0, 300.0)


def hang_disk(faults: "Faults") -> None:
    host = faults.leader_host()
    if host.disk_hangs:
        return
    seconds = faults.rng.choice(HANG_SECONDS) * faults.rng.uniform(0.5, 1.0)
    faults.world.say(host.name, f"has a disk that hangs for {seconds:.1f} s")
    # It may be asked to stop meanwhile, and has only so much patience.
    host.was_slow = True
    host.disk_hangs = True
    faults.world.agenda.after(seconds, _go_on, faults, host)


def _go_on(faults: "Faults", host: Host) -> None:
    if host.disk_hangs:
        faults.world.say(host.name, "has a disk that answers again")
        host.disk_hangs = False


def flap_disk(faults: "Faults") -> None:
    host = faults.leader_host()
    if host.is_up:
        faults.world.say(host.name, "has a disk that fails for a moment")
        host.is_hurt = True
        host.disk.is_failing = True
        faults.world.agenda.after(faults.rng.uniform(0.05, 0.3), _be_well, host)


def _be_well(host: Host) -> None:
    host.disk.is_failing = False


def kill_after_failed_sync(faults: "Faults") -> None:
    host = faults.leader_host()
    if not host.is_up:
        return
    host.is_hurt = True
    host.disk.fail_syncs.append(".log")
    faults.world.say(host.name, "will fail its next sync, and die of it")
    faults.harm_after(0.001, _kill_when_failed, faults, host, host.lives)


def _kill_when_failed(faults: "Faults", host: Host, life: int) -> None:
    """Looks often: what a broker does after a failed sync takes it longer than this."""
    if host.lives != life or not host.is_up:
        return
    if host.disk.fail_syncs:
        faults.harm_after(0.001, _kill_when_failed, faults, host, life)
    else:
        faults.take_down(host, power=False)


def fill_to_the_last_byte(faults: "Faults") -> None:
    host = faults.any_host()
    host.disk.capacity_bytes = host.disk.used_bytes() + faults.rng.choice((0, 0, 51))
    faults.world.say(host.name, "has a disk that is full to the last byte")
    faults.world.agenda.after(faults.rng.uniform(0.5, 6.0), _empty, host)


def fill_leaders_disk(faults: "Faults") -> None:
    host = faults.leader_host()
    if host.disk.capacity_bytes is None:
        seconds = faults.rng.uniform(5.0, 30.0)
        host.disk.capacity_bytes = host.disk.used_bytes() + faults.rng.choice((0, 20_000, 1 << 20))
        faults.world.say(host.name, f"has a full disk for {seconds:.1f} s")
        faults.world.agenda.after(seconds, _empty, host)


def _empty(host: Host) -> None:
    host.disk.capacity_bytes = None


def add_topic(faults: "Faults") -> None:
    name = f"topic-{faults.rng.randrange(1000)}"
    faults.world.say("admin", f"creates {name}")
    factor = min(3, len(faults.world.hosts))
    faults.administer(lambda directory: create_topic(directory, name, 2, factor, {}))


def heal(host: Host) -> None:
    host.disk_hangs = False
    host.disk.is_failing = False
