"""What can go wrong, each as one event at one moment: it picks its victim by the storm's own chance.

Every fault either passes by itself or is undone by the calm. None of them asks whether the cluster can bear it: a cluster
that cannot must stop acknowledging, not lie.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, Final

from headrace.cluster.image import Image
from headrace.wire.batch import iter_headers
from sim import directed, disk_storms, topic_faults
from sim.checks import Checks
from sim.clients import Directory, delete_records, elect_preferred, move_partition
from sim.config_churn import change_configs
from sim.disk import SimDisk
from sim.host import Host
from sim.loop import Entry
from sim.restored_stores import StoreCopy, restore_store
from sim.world import World

CRASH_DOWN_SECONDS: Final = (0.1, 6.0)
AWAY_SECONDS: Final = (10.0, 15.0)
BOUNCE_DOWN_SECONDS: Final = (0.02, 0.6)

Fault = Callable[["Faults"], None]


class Faults:
    def __init__(self, world: World, checks: Checks, rng: Random) -> None:
        self.world = world
        self.checks = checks
        self.rng = rng
        self.to_replace: dict[tuple[int, str], None] = {}
        """Broker and partition with rot that only a person mends: see `topic_faults.replace_rotten`."""
        self.store_copy: StoreCopy | None = None
        """An older copy of the store: see `restored_stores`."""
        self._due: list[Entry] = []
        self._admins: list[asyncio.Task[Any]] = []

    def harm_after(self, seconds: float, deed: Callable[..., None], *args: Any) -> None:
        """The later part of a fault. None is due any more in the calm, unlike what undoes a fault (`agenda.after`)."""
        self._due.append(self.world.agenda.after(seconds, deed, *args))

    def any_host(self) -> Host:
        return self.rng.choice(self.world.hosts)

    def image(self) -> Image:
        """As the store has it."""
        return self.checks.image()

    def leader_host(self) -> Host:
        """Of some partition, most of the time: that is where it hurts."""
        leaders = [
            state.leader
            for topic in self.checks.image().topics.values()
            for state in topic.partitions
            if state.leader > 0
        ]
        if leaders and self.rng.random() < 0.7:
            return self.world.hosts[self.rng.choice(leaders) - 1]
        return self.any_host()

    def are_all_in_sync(self) -> bool:
        states = [state for topic in self.checks.image().topics.values() for state in topic.partitions]
        return all(each.is_serving for each in self.world.hosts) and all(len(s.isr) == len(s.replicas) for s in states)

    # -- processes and machines ------------------------------------------------------------------------------------

    def kill_one(self) -> None:
        self.take_down(self.leader_host(), power=False)

    def power_off_one(self) -> None:
        self.take_down(self.leader_host(), power=True)

    def kill_all(self) -> None:
        for host in self.world.hosts:
            self.take_down(host, power=False)

    def power_off_all(self) -> None:
        """The whole room goes dark at one moment; machines come back one by one."""
        for host in self.world.hosts:
            self.take_down(host, power=True)

    def take_down(self, host: Host, power: bool) -> None:
        if not host.is_up:
            if power:
                # Down already, with what its process left in the page cache: that is gone now too.
                self.world.lose_power(host)
            return
        if power:
            self.world.lose_power(host)
        else:
            self.world.kill(host)
        self.world.agenda.after(self.rng.uniform(*CRASH_DOWN_SECONDS), self.world.start, host)

    def stay_away(self) -> None:
        """For longer than a restless cluster keeps tombstones, markers and producers."""
        host = self.any_host()
        self.world.kill(host)
        self.world.agenda.after(self.rng.uniform(*AWAY_SECONDS), self.world.start, host)

    def stop_one(self) -> None:
        self.world.stop(self.any_host())

    def bounce_follower(self) -> None:
        """Of some partition: it is back, and wants to join, before anybody has missed it for long."""
        states = [state for topic in self.checks.image().topics.values() for state in topic.partitions]
        followers = [each for state in states for each in state.replicas if each != state.leader]
        host = self.world.hosts[self.rng.choice(followers) - 1] if followers else self.any_host()
        if host.is_up:
            self.world.kill(host)
            self.world.agenda.after(self.rng.uniform(*BOUNCE_DOWN_SECONDS), self.world.start, host)

    def pause_one(self) -> None:
        self.world.pause(self.leader_host(), self.rng.choice((0.3, 1.0, 3.0, 8.0)) * self.rng.uniform(0.5, 1.5))

    # -- links -----------------------------------------------------------------------------------------------------

    def isolate_one(self) -> None:
        """From the other brokers, and half of the time from clients too."""
        host = self.leader_host()
        peers = [other.address for other in self.world.hosts if other is not host]
        if self.rng.random() < 0.5:
            peers += [loop.address for loop in self.world.loops if loop.name.startswith(("producer", "consumer"))]
        self._cut([(host.address, peer) for peer in peers] + [(peer, host.address) for peer in peers])

    def cut_pair(self) -> None:
        one, other = self.any_host(), self.any_host()
        if one is not other:
            self._cut([(one.address, other.address), (other.address, one.address)])

    def cut_one_way(self) -> None:
        one, other = self.any_host(), self.any_host()
        if one is not other:
            self._cut([(one.address, other.address)])

    def _cut(self, links: list[tuple[str, str]]) -> None:
        seconds = self.rng.choice((0.5, 2.0, 6.0)) * self.rng.uniform(0.5, 1.5)
        self.world.say("network", f"cut for {seconds:.2f} s: {', '.join(f'{a}>{b}' for a, b in links[:4])}")
        for link in links:
            self.world.network.cut(*link)
        self.world.agenda.after(seconds, self._mend, links)

    def _mend(self, links: list[tuple[str, str]]) -> None:
        self.world.say("network", f"mended: {', '.join(f'{a}>{b}' for a, b in links[:4])}")
        for link in links:
            self.world.network.mend(*link)

    def slow_link(self) -> None:
        one, other = self.any_host(), self.any_host()
        if one is not other:
            self.world.say("network", f"slow: {one.address}>{other.address}")
            self.world.network.slow_down(one.address, other.address, self.rng.uniform(20, 400))
            self.world.agenda.after(self.rng.uniform(0.5, 6.0), self.world.network.mend, one.address, other.address)

    # -- administration --------------------------------------------------------------------------------------------

    def move_partition(self) -> None:
        """To other brokers, or back: most of the time while another move runs."""
        topic = self.rng.choice(list(self.checks.image().topics.values()))
        index = self.rng.randrange(len(topic.partitions))
        replicas = None
        if self.rng.random() < 0.8:
            replicas = self.rng.sample([host.id for host in self.world.hosts], min(3, len(self.world.hosts)))
        self.world.say("admin", f"moves {topic.name}-{index} to {replicas}")
        self.administer(lambda directory: move_partition(directory, topic.name, index, replicas))

    def delete_records(self) -> None:
        topic = self.rng.choice(list(self.checks.image().topics.values()))
        index = self.rng.randrange(len(topic.partitions))
        before = int(self.rng.uniform(0, max(self.checks.acked.get((topic.name, index), {0: b""}))))
        self.world.say("admin", f"deletes {topic.name}-{index} before {before}")
        self.checks.on_deletion(topic.name, index, before)
        self.administer(lambda directory: delete_records(directory, topic.name, index, before))

    def elect_preferred(self) -> None:
        self.world.say("admin", "asks for the preferred leaders")
        self.administer(elect_preferred)

    def administer(self, work: Callable[[Directory], Coroutine[Any, Any, None]]) -> None:
        loop = self.world.client_loop(f"admin {len(self.world.loops)}")
        self._admins.append(self.world.spawn(loop, work(Directory(self.world, loop, self.rng))))

    @property
    def are_admins_done(self) -> bool:
        return all(task.done() for task in self._admins)

    def change_configs(self) -> None:
        """A burst of them, on one topic."""
        topic = self.rng.choice(list(self.checks.image().topics))
        times = self.rng.randrange(1, 9)
        self.world.say("admin", f"changes settings of {topic}, {times} times")
        self.administer(lambda directory: change_configs(directory, topic, times))

    # -- disks, clocks, the store ----------------------------------------------------------------------------------

    def slow_disk(self) -> None:
        host = self.any_host()
        host.slowness = self.rng.uniform(20, 400)
        # One sync may take longer than a broker that is asked to stop waits for it.
        host.was_slow = True
        self.world.say(host.name, f"has a disk {host.slowness:.0f} times as slow")
        self.world.agenda.after(self.rng.uniform(0.5, 5.0), self._quicken, host)

    def _quicken(self, host: Host) -> None:
        host.slowness = host.usual_slowness

    def fail_sync(self) -> None:
        host = self.any_host()
        if host.is_up:
            self.world.say(host.name, "will fail its next sync")
            host.is_hurt = True
            host.disk.fail_syncs.append(".log")

    def fill_disk(self) -> None:
        host = self.any_host()
        host.disk.capacity_bytes = host.disk.used_bytes() + self.rng.randrange(20_000)
        self.world.say(host.name, "has a full disk")
        self.world.agenda.after(self.rng.uniform(0.5, 4.0), self._empty_disk, host)

    def _empty_disk(self, host: Host) -> None:
        host.disk.capacity_bytes = None

    def rot(self) -> None:
        """A bit flips on one disk while its broker is down, in what others have too: then it must not lead from it."""
        host = self.any_host()
        if len(self.world.hosts) == 1:
            return
        if self.are_all_in_sync():
            self.take_down(host, power=False)
            flipped = flip_some_bit(host.disk, "/data/logs", self.rng)
            self.world.say(host.name, f"rots: {flipped}")

    def jump_clock(self) -> None:
        """By up to an hour, or days ahead: longer than anything is kept. One that is days behind refuses what is written
        (`message.timestamp.after.max.ms`)."""
        host = self.any_host()
        host.clock.skew = self.rng.uniform(-3600, 3600)
        host.clock.days = self.rng.choice((0.0, 0.0, 9.0))
        self.world.say(host.name, f"has its clock set to {host.clock.skew:+.0f} s and {host.clock.days:+.0f} days")

    def cut_store(self) -> None:
        host = self.leader_host()
        seconds = self.rng.choice((0.5, 2.0, 6.0)) * self.rng.uniform(0.5, 1.5)
        self._cut_store([host], seconds)

    def cut_store_from_all(self) -> None:
        self._cut_store(self.world.hosts, self.rng.choice((0.5, 2.0, 6.0)) * self.rng.uniform(0.5, 1.5))

    def _cut_store(self, hosts: list[Host], seconds: float) -> None:
        self.world.say("store", f"out of reach of {', '.join(host.name for host in hosts)} for {seconds:.2f} s")
        for host in hosts:
            host.cut_store(True)
        self.world.agenda.after(seconds, self._mend_store, hosts)

    def _mend_store(self, hosts: list[Host]) -> None:
        for host in hosts:
            host.cut_store(False)

    def slow_store(self) -> None:
        """Commits take up to seconds and outlive their callers; leases and, a little late, news go on."""
        seconds = self.rng.uniform(0.5, 6.0)
        commits = self.world.slow_commits
        commits.seconds_max = self.rng.choice((0.5, 1.5, 4.0))
        commits.news_seconds_max = self.rng.choice((0.0, 0.1, 0.6))
        self.world.say("store", f"commits take up to {commits.seconds_max} s, for {seconds:.2f} s")
        self.world.agenda.after(seconds, self._quicken_store)

    def _quicken_store(self) -> None:
        self.world.slow_commits.seconds_max = self.world.slow_commits.news_seconds_max = 0.0

    def forget_history(self) -> None:
        """The store remembers no changes for a while: whoever lags behind has to load all of it anew."""
        seconds = self.rng.uniform(0.5, 4.0)
        self.world.say("store", f"forgets its history for {seconds:.2f} s")
        self._forget_history(self.world.agenda.now + seconds)

    def _forget_history(self, until: float) -> None:
        self.world.shelf.history.clear()
        if self.world.agenda.now < until:
            self.harm_after(self.rng.uniform(0.01, 0.1), self._forget_history, until)

    # -- the calm --------------------------------------------------------------------------------------------------

    def heal(self) -> None:
        world = self.world
        world.say("calm", "everything is mended")
        for entry in self._due:
            entry.cancel()
        world.network.mend_all()
        world.resume_all()
        self._quicken_store()
        for host in world.hosts:
            host.cut_store(False)
            host.slowness = host.usual_slowness
            host.disk.fail_syncs.clear()
            host.disk.capacity_bytes = None
            disk_storms.heal(host)
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
    "store-loss": {
        Faults.cut_store: 4,
        Faults.cut_store_from_all: 1,
        Faults.slow_store: 2,
        Faults.forget_history: 1,
        Faults.kill_one: 1,
        Faults.bounce_follower: 1,
        Faults.isolate_one: 1,
    },
    "restores": {
        restore_store: 3,
        Faults.kill_one: 1,
        Faults.power_off_one: 0.5,
        Faults.bounce_follower: 1,
        Faults.elect_preferred: 2,
        Faults.slow_disk: 0.5,
    },
    # Changes of the in-sync set that meet everything that could end them: the storm makes the producers busier.
    "churn": {
        Faults.change_configs: 5,
        Faults.bounce_follower: 5,
        Faults.slow_store: 4,
        Faults.cut_store: 1,
        Faults.slow_disk: 1,
        Faults.cut_pair: 1,
        Faults.kill_one: 1,
    },
    "cuts": {
        directed.cut_off_leader: 3,
        directed.bounce_leader: 4,
        Faults.slow_disk: 3,
        Faults.power_off_one: 1,
        Faults.isolate_one: 1,
        Faults.elect_preferred: 1,
    },
    "lone-leaders": {
        directed.leave_leader_alone: 3,
        directed.lower_min_isr: 2,
        directed.bounce_leader: 1,
        Faults.slow_disk: 1,
        Faults.slow_store: 1,
    },
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
        disk_storms.flap_disk: 0.5,
        disk_storms.kill_after_failed_sync: 0.5,
        disk_storms.hang_disk: 1,
        disk_storms.fill_to_the_last_byte: 0.5,
        Faults.jump_clock: 0.5,
        Faults.cut_store: 2,
        Faults.cut_store_from_all: 0.3,
        Faults.fill_disk: 0.5,
        Faults.slow_store: 1,
        Faults.change_configs: 1,
        Faults.bounce_follower: 1,
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
        disk_storms.hang_disk: 1,
        disk_storms.flap_disk: 0.5,
        disk_storms.fill_to_the_last_byte: 0.5,
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
        disk_storms.hang_disk: 1,
        disk_storms.flap_disk: 0.5,
        disk_storms.fill_to_the_last_byte: 0.5,
    },
    "full-disks": {
        disk_storms.fill_leaders_disk: 3,
        disk_storms.fill_to_the_last_byte: 1,
        Faults.kill_one: 0.5,
        Faults.elect_preferred: 2,
    },
    "hangs": {disk_storms.hang_disk: 3, disk_storms.add_topic: 3, Faults.kill_one: 1, Faults.elect_preferred: 1},
    "disks": {
        disk_storms.hang_disk: 3,
        disk_storms.flap_disk: 3,
        disk_storms.kill_after_failed_sync: 2,
        disk_storms.fill_to_the_last_byte: 1,
        disk_storms.add_topic: 1,
        Faults.power_off_one: 2,
        Faults.power_off_all: 1,
        Faults.kill_one: 1,
        Faults.slow_disk: 1,
        Faults.delete_records: 1,
    },
    # Not durable on purpose: then only processes may die, and what they wrote stays in the page cache.
    "relaxed": {Faults.kill_one: 4, Faults.kill_all: 1, Faults.stop_one: 1, Faults.pause_one: 1, Faults.isolate_one: 1},
    # Turned durable and relaxed all the time; only one at a time loses power, while all are in sync.
    "hardening": {
        topic_faults.toggle_flush: 5,
        topic_faults.cut_power_relaxed: 2,
        Faults.kill_one: 1,
        Faults.bounce_follower: 2,
        Faults.slow_disk: 3,
        Faults.cut_store: 1,
        Faults.cut_pair: 1,
        Faults.elect_preferred: 1,
    },
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
