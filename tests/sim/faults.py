"""What can go wrong, each as one event at one moment: it picks its victim by the storm's own chance.

Every fault either passes by itself or is undone by the calm. None of them asks whether the cluster can bear it: a cluster
that cannot must stop acknowledging, not lie.
"""

from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, Final

from headrace.wire.batch import iter_headers
from sim.checks import Checks
from sim.clients import Directory, delete_records, elect_preferred, move_partition
from sim.disk import SimDisk
from sim.host import Host
from sim.world import World

CRASH_DOWN_SECONDS: Final = (0.1, 6.0)

Fault = Callable[["Faults"], None]


class Faults:
    def __init__(self, world: World, checks: Checks, rng: Random) -> None:
        self._world = world
        self._checks = checks
        self._rng = rng

    def _any(self) -> Host:
        return self._rng.choice(self._world.hosts)

    def _leader(self) -> Host:
        """Of some partition, most of the time: that is where it hurts."""
        leaders = [
            state.leader
            for topic in self._checks.image().topics.values()
            for state in topic.partitions
            if state.leader > 0
        ]
        if leaders and self._rng.random() < 0.7:
            return self._world.hosts[self._rng.choice(leaders) - 1]
        return self._any()

    # -- processes and machines ------------------------------------------------------------------------------------

    def kill_one(self) -> None:
        self._take_down(self._leader(), power=False)

    def power_off_one(self) -> None:
        self._take_down(self._leader(), power=True)

    def kill_all(self) -> None:
        for host in self._world.hosts:
            self._take_down(host, power=False)

    def power_off_all(self) -> None:
        """The whole room goes dark at one moment; machines come back one by one."""
        for host in self._world.hosts:
            self._take_down(host, power=True)

    def _take_down(self, host: Host, power: bool) -> None:
        if not host.is_up:
            if power:
                # Down already, with what its process left in the page cache: that is gone now too.
                self._world.lose_power(host)
            return
        if power:
            self._world.lose_power(host)
        else:
            self._world.kill(host)
        self._world.agenda.after(self._rng.uniform(*CRASH_DOWN_SECONDS), self._world.start, host)

    def stop_one(self) -> None:
        self._world.stop(self._any())

    def pause_one(self) -> None:
        self._world.pause(self._leader(), self._rng.choice((0.3, 1.0, 3.0, 8.0)) * self._rng.uniform(0.5, 1.5))

    # -- links -----------------------------------------------------------------------------------------------------

    def isolate_one(self) -> None:
        """From the other brokers, and half of the time from clients too."""
        host = self._leader()
        peers = [other.address for other in self._world.hosts if other is not host]
        if self._rng.random() < 0.5:
            peers += [loop.address for loop in self._world.loops if loop.name.startswith(("producer", "consumer"))]
        self._cut([(host.address, peer) for peer in peers] + [(peer, host.address) for peer in peers])

    def cut_pair(self) -> None:
        one, other = self._any(), self._any()
        if one is not other:
            self._cut([(one.address, other.address), (other.address, one.address)])

    def cut_one_way(self) -> None:
        one, other = self._any(), self._any()
        if one is not other:
            self._cut([(one.address, other.address)])

    def _cut(self, links: list[tuple[str, str]]) -> None:
        seconds = self._rng.choice((0.5, 2.0, 6.0)) * self._rng.uniform(0.5, 1.5)
        self._world.say("network", f"cut for {seconds:.2f} s: {', '.join(f'{a}>{b}' for a, b in links[:4])}")
        for link in links:
            self._world.network.cut(*link)
        self._world.agenda.after(seconds, self._mend, links)

    def _mend(self, links: list[tuple[str, str]]) -> None:
        self._world.say("network", f"mended: {', '.join(f'{a}>{b}' for a, b in links[:4])}")
        for link in links:
            self._world.network.mend(*link)

    def slow_link(self) -> None:
        one, other = self._any(), self._any()
        if one is not other:
            self._world.say("network", f"slow: {one.address}>{other.address}")
            self._world.network.slow_down(one.address, other.address, self._rng.uniform(20, 400))
            self._world.agenda.after(self._rng.uniform(0.5, 6.0), self._world.network.mend, one.address, other.address)

    # -- administration --------------------------------------------------------------------------------------------

    def move_partition(self) -> None:
        """To other brokers, or back: most of the time while another move runs."""
        topic = self._rng.choice(list(self._checks.image().topics.values()))
        index = self._rng.randrange(len(topic.partitions))
        replicas = None
        if self._rng.random() < 0.8:
            replicas = self._rng.sample([host.id for host in self._world.hosts], min(3, len(self._world.hosts)))
        self._world.say("admin", f"moves {topic.name}-{index} to {replicas}")
        self._administer(lambda directory: move_partition(directory, topic.name, index, replicas))

    def delete_records(self) -> None:
        topic = self._rng.choice(list(self._checks.image().topics.values()))
        index = self._rng.randrange(len(topic.partitions))
        before = int(self._rng.uniform(0, max(self._checks.acked.get((topic.name, index), {0: b""}))))
        self._world.say("admin", f"deletes {topic.name}-{index} before {before}")
        self._checks.on_deletion(topic.name, index, before)
        self._administer(lambda directory: delete_records(directory, topic.name, index, before))

    def elect_preferred(self) -> None:
        self._world.say("admin", "asks for the preferred leaders")
        self._administer(elect_preferred)

    def _administer(self, work: Callable[[Directory], Coroutine[Any, Any, None]]) -> None:
        loop = self._world.client_loop(f"admin {len(self._world.loops)}")
        self._world.spawn(loop, work(Directory(self._world, loop, self._rng)))

    # -- disks, clocks, the store ----------------------------------------------------------------------------------

    def slow_disk(self) -> None:
        host = self._any()
        host.slowness = self._rng.uniform(20, 400)
        # One sync may take longer than a broker that is asked to stop waits for it.
        host.was_slow = True
        self._world.say(host.name, f"has a disk {host.slowness:.0f} times as slow")
        self._world.agenda.after(self._rng.uniform(0.5, 5.0), self._quicken, host)

    def _quicken(self, host: Host) -> None:
        host.slowness = host.usual_slowness

    def fail_sync(self) -> None:
        host = self._any()
        if host.is_up:
            self._world.say(host.name, "will fail its next sync")
            host.is_hurt = True
            host.disk.fail_syncs.append(".log")

    def fill_disk(self) -> None:
        host = self._any()
        host.disk.capacity_bytes = host.disk.used_bytes() + self._rng.randrange(20_000)
        self._world.say(host.name, "has a full disk")
        self._world.agenda.after(self._rng.uniform(0.5, 4.0), self._empty_disk, host)

    def _empty_disk(self, host: Host) -> None:
        host.disk.capacity_bytes = None

    def rot(self) -> None:
        """A bit flips on one disk while its broker is down, in what others have too: then it must not lead from it."""
        states = [state for topic in self._checks.image().topics.values() for state in topic.partitions]
        host = self._any()
        if len(self._world.hosts) == 1:
            return
        if all(each.is_serving for each in self._world.hosts) and all(len(s.isr) == len(s.replicas) for s in states):
            self._take_down(host, power=False)
            flipped = flip_some_bit(host.disk, "/data/logs", self._rng)
            self._world.say(host.name, f"rots: {flipped}")

    def jump_clock(self) -> None:
        host = self._any()
        host.clock.skew = self._rng.uniform(-3600, 3600)
        self._world.say(host.name, f"has its clock set to {host.clock.skew:+.0f} s")

    def cut_store(self) -> None:
        host = self._leader()
        seconds = self._rng.choice((0.5, 2.0, 6.0)) * self._rng.uniform(0.5, 1.5)
        self._cut_store([host], seconds)

    def cut_store_from_all(self) -> None:
        self._cut_store(self._world.hosts, self._rng.choice((0.5, 2.0, 6.0)) * self._rng.uniform(0.5, 1.5))

    def _cut_store(self, hosts: list[Host], seconds: float) -> None:
        self._world.say("store", f"out of reach of {', '.join(host.name for host in hosts)} for {seconds:.2f} s")
        for host in hosts:
            host.cut_store(True)
        self._world.agenda.after(seconds, self._mend_store, hosts)

    def _mend_store(self, hosts: list[Host]) -> None:
        for host in hosts:
            host.cut_store(False)

    # -- the calm --------------------------------------------------------------------------------------------------

    def heal(self) -> None:
        world = self._world
        world.say("calm", "everything is mended")
        world.network.mend_all()
        world.resume_all()
        for host in world.hosts:
            host.cut_store(False)
            host.slowness = host.usual_slowness
            host.disk.fail_syncs.clear()
            host.disk.capacity_bytes = None
        world.start_all()


def flip_some_bit(disk: SimDisk, path: str, rng: Random) -> str:
    """In the log of some partition, but not in its last batch: there it would look like the torn end of a write."""
    names = [name for name in sorted(disk.directory(path).entries) if name.startswith("orders")]
    if not names:
        return "nothing"
    directory = f"{path}/{rng.choice(names)}"
    logs = [name for name in sorted(disk.directory(directory).entries) if name.endswith(".log")]
    file = f"{directory}/{logs[-1]}"
    starts = [position for position, _ in iter_headers(bytes(disk.file(file).content))]
    if len(starts) < 2:
        return "nothing"
    position = rng.randrange(starts[-1])
    disk.flip_bit(file, position, rng.randrange(8))
    return f"{file} at {position}"


SCENARIOS: Final[Mapping[str, Mapping[Fault, float]]] = {
    "power-loss": {Faults.power_off_all: 3, Faults.power_off_one: 2},
    "crashes": {
        Faults.kill_one: 5,
        Faults.kill_all: 1,
        Faults.power_off_one: 2,
        Faults.stop_one: 1,
        Faults.slow_disk: 1,
    },
    "partitions": {Faults.isolate_one: 3, Faults.cut_pair: 3, Faults.cut_one_way: 3, Faults.slow_link: 2},
    "pauses": {Faults.pause_one: 5, Faults.slow_disk: 1, Faults.slow_link: 1, Faults.kill_one: 1},
    "store-loss": {Faults.cut_store: 4, Faults.cut_store_from_all: 1, Faults.kill_one: 1, Faults.isolate_one: 1},
    "mixed": {
        Faults.kill_one: 3,
        Faults.kill_all: 0.5,
        Faults.power_off_one: 2,
        Faults.power_off_all: 0.5,
        Faults.stop_one: 1,
        Faults.pause_one: 2,
        Faults.isolate_one: 2,
        Faults.cut_pair: 1,
        Faults.cut_one_way: 1,
        Faults.slow_link: 1,
        Faults.slow_disk: 1,
        Faults.fail_sync: 0.5,
        Faults.jump_clock: 0.5,
        Faults.cut_store: 2,
        Faults.cut_store_from_all: 0.3,
        Faults.fill_disk: 0.5,
        Faults.elect_preferred: 0.5,
        Faults.delete_records: 0.5,
    },
    # The storm adds members of a consumer group to this one.
    "groups": {
        Faults.kill_one: 5,
        Faults.kill_all: 0.5,
        Faults.power_off_one: 1,
        Faults.stop_one: 1,
        Faults.pause_one: 2,
        Faults.isolate_one: 2,
        Faults.cut_pair: 1,
        Faults.elect_preferred: 1,
    },
    # The storm adds transactional producers to this one.
    "transactions": {
        Faults.kill_one: 4,
        Faults.kill_all: 0.5,
        Faults.power_off_one: 1,
        Faults.power_off_all: 0.3,
        Faults.stop_one: 1,
        Faults.pause_one: 2,
        Faults.isolate_one: 2,
        Faults.cut_pair: 1,
        Faults.slow_link: 1,
        Faults.slow_disk: 0.5,
        Faults.elect_preferred: 1,
    },
    # Not durable on purpose: then only processes may die, and what they wrote stays in the page cache.
    "relaxed": {Faults.kill_one: 4, Faults.kill_all: 1, Faults.stop_one: 1, Faults.pause_one: 1, Faults.isolate_one: 1},
    "rot": {Faults.rot: 3, Faults.kill_one: 1, Faults.pause_one: 1, Faults.isolate_one: 1},
    "moves": {
        Faults.move_partition: 5,
        Faults.delete_records: 1,
        Faults.elect_preferred: 1,
        Faults.kill_one: 1,
        Faults.power_off_one: 1,
        Faults.pause_one: 1,
        Faults.isolate_one: 1,
        Faults.slow_disk: 1,
        Faults.stop_one: 1,
        Faults.cut_store: 1,
    },
}
