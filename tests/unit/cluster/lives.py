"""A cluster whose brokers are lists: enough of a log to tell whether a decision lost a committed record.

A record is (leader epoch, serial). Followers compare epochs alone, as real ones do, so the same epoch at the same offset
must mean the same record. A durable replica counts up to what it has synced, a relaxed one up to its end. The high
watermark follows the rules that a leader must keep: the larger set while a change is on its way, nothing below
min.insync.replicas, nothing while the ELR is not empty.
"""

from collections.abc import Iterable

from headrace.base.errors import Refused
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import NewTopic, create_topic
from headrace.cluster.elect import check_sound, effective_min_isr, min_isr_to_commit
from headrace.cluster.entities import NO_LEADER, Broker, PartitionState, Topic
from headrace.cluster.image import Image, changed_topics
from headrace.cluster.isr import alter_isr
from headrace.cluster.registration import next_epoch
from headrace.cluster.rejoin import Doubt, rejoin
from headrace.cluster.rewrite import topic_configs
from headrace.cluster.store import FIRST, Commit, Conflict, check_size
from headrace.stores.memory import MemoryShelf

DEFAULTS = BrokerConfig({"min.insync.replicas": "2", "default.replication.factor": "3"})
BROKERS = (1, 2, 3, 4)
Key = tuple[str, int]
Entry = tuple[int, int]


class Replica:
    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.synced = 0

    def follow(self, leader: "Replica") -> None:
        same = 0
        while same < min(len(self.log), len(leader.log)) and self.log[same][0] == leader.log[same][0]:
            assert self.log[same] == leader.log[same], f"one epoch, two records: {self.log[same]} {leader.log[same]}"
            same += 1
        self.synced = min(self.synced, same)
        self.log[same:] = leader.log[same:]

    def cut(self, length: int) -> None:
        del self.log[length:]
        self.synced = min(self.synced, length)


class Lives:
    def __init__(self) -> None:
        self.shelf = MemoryShelf()
        self.image = Image()
        self.live: dict[int, int] = {}
        self.leaving: set[int] = set()
        self.damage: dict[int, dict[tuple[bytes, int], Doubt]] = {each: {} for each in BROKERS}
        self.lost_cache: set[int] = set()
        self.replicas: dict[Key, dict[int, Replica]] = {}
        self.committed: dict[Key, list[Entry]] = {}
        self.leaders: dict[tuple[Key, int], int] = {}
        self.progress: dict[Key, dict[int, tuple[int, int]]] = {}
        self.proposed: dict[Key, set[int]] = {}
        self.in_flight: list[Commit] = []
        self.serial = 0
        self.unclean_seen = 0
        for broker in BROKERS:
            self.start(broker)
        self._create(NewTopic("durable", 2, 3))
        self._create(NewTopic("relaxed", 1, 3, {"flush.messages": "100"}))
        self._create(NewTopic("unclean", 1, 2, {"unclean.leader.election.enable": "true"}))

    def _create(self, new: NewTopic) -> None:
        topic_id = len(self.image.topics).to_bytes(16, "big")
        self.run(create_topic(self.image, set(self.live), new, topic_id, DEFAULTS).commits)

    # -- the store ---------------------------------------------------------------------------------------------------

    def commit(self, commit: Commit) -> bool:
        assert FIRST not in commit.expect.values()
        check_size(commit.puts, commit.expect)
        try:
            self.shelf.commit(commit.puts, commit.expect)
        except Conflict:
            return False
        before = self.image
        for changes in self.shelf.after(before.revision):
            self.image = self.image.apply(changes.changes, changes.revision)
        for old, new in changed_topics(before, self.image):
            assert new is not None
            self._check_topic(old, new)
        return True

    def run(self, commits: Iterable[Commit]) -> bool:
        return all(self.commit(commit) for commit in commits)

    def _check_topic(self, old: Topic | None, new: Topic) -> None:
        for index, state in enumerate(new.partitions):
            key = (new.name, index)
            for broker in state.replicas:
                self.replicas.setdefault(key, {}).setdefault(broker, Replica())
            check_sound(state)
            holder = self.leaders.setdefault((key, state.leader_epoch), state.leader)
            assert holder == state.leader, f"two leaders of {key} in epoch {state.leader_epoch}"
            self.committed.setdefault(key, [])
            if old is not None and index < len(old.partitions) and old.partitions[index] != state:
                self._check_change(key, old.partitions[index], state)

    def _check_change(self, key: Key, old: PartitionState, new: PartitionState) -> None:
        assert new.partition_epoch > old.partition_epoch
        assert new.leader_epoch >= old.leader_epoch
        self.proposed.pop(key, None)
        if new.leader_epoch != old.leader_epoch:
            self.progress.pop(key, None)
        if new.leader_epoch == old.leader_epoch or new.leader == NO_LEADER:
            return
        if new.leader not in self.eligible(key, old):
            self.unclean_seen += 1
            self.forget_lost(key, new.leader)
        self.check_leader(key)

    def check_leader(self, key: Key) -> None:
        """One that is dead may have lost anything; it does not come back as the leader."""
        leader, committed = self.leads(key), self.committed[key]
        if leader is not None:
            log = self.replicas[key][leader].log
            assert log[: len(committed)] == committed, (
                f"broker {leader} leads without committed records: {self.state(key)}"
            )

    def eligible(self, key: Key, state: PartitionState) -> set[int]:
        """Who may lead cleanly. An ELR from before min.insync.replicas was lowered no longer counts."""
        elr = state.elr if len(state.isr) < self._min_isr(key, state) else ()
        return {*state.isr, *elr} - set(state.damaged)

    def forget_lost(self, key: Key, leader: int) -> None:
        log, committed = self.replicas[key][leader].log, self.committed[key]
        same = 0
        while same < min(len(log), len(committed)) and log[same] == committed[same]:
            same += 1
        del committed[same:]

    # -- brokers -----------------------------------------------------------------------------------------------------

    def kill(self, broker: int, power: bool) -> None:
        self.live.pop(broker, None)
        self.leaving.discard(broker)
        if power:
            self.lost_cache.add(broker)
            for replica in self.replicas_on(broker).values():
                replica.cut(replica.synced)

    def harm(self, broker: int, key: Key, length: int) -> None:
        """Its log is found cut, below what it had synced, at its next start."""
        replica = self.replicas[key].get(broker)
        if replica is not None and length < replica.synced:
            replica.cut(length)
            self.damage[broker][self.image.topics[key[0]].id, key[1]] = Doubt.DAMAGED

    def replicas_on(self, broker: int) -> dict[Key, Replica]:
        return {key: held[broker] for key, held in self.replicas.items() if broker in held}

    def start(self, broker: int, steps_max: int = 100, overtaken: bool = False) -> None:
        """At most so many commits before it dies again. Overtaken: others commit while it thinks."""
        epoch = next_epoch(self.image)
        me = Broker(broker, epoch, f"host-{broker}", 9092, directory_id=f"dir-{broker}")
        while True:
            lost = broker in self.lost_cache
            step = rejoin(self.image, me, self.damage[broker], lost, DEFAULTS, self.live)
            doubted = self._relaxed_alone(broker) if lost else []
            assert step.broker is None or step.unclean == len(doubted)
            if overtaken:
                self.land()
            for commit in step.commits:
                steps_max -= 1
                if steps_max < 0 or not self.commit(commit):
                    return
            if step.broker is not None:
                break
        for key in doubted:
            self.forget_lost(key, broker)
        self.damage[broker].clear()
        self.lost_cache.discard(broker)
        self.live[broker] = epoch

    def _relaxed_alone(self, broker: int) -> list[Key]:
        """Where it is the last in sync, and may have lost what it had."""
        relaxed = self.image.topics.get("relaxed")
        if relaxed is None:
            return []
        alone = [index for index, state in enumerate(relaxed.partitions) if state.isr == (broker,) != state.damaged]
        return [("relaxed", index) for index in alone if (relaxed.id, index) not in self.damage[broker]]

    # -- records -----------------------------------------------------------------------------------------------------

    def state(self, key: Key) -> PartitionState:
        state = self.image.partition(*key)
        assert state is not None
        return state

    def leads(self, key: Key) -> int | None:
        leader = self.state(key).leader
        registered = self.image.brokers.get(leader)
        return leader if registered is not None and self.live.get(leader) == registered.epoch else None

    def produce(self, key: Key, sync: bool) -> None:
        leader = self.leads(key)
        if leader is not None:
            self.check_leader(key)
            self.serial += 1
            replica = self.replicas[key][leader]
            replica.log.append((self.state(key).leader_epoch, self.serial))
            if sync:
                replica.synced = len(replica.log)
            self.advance(key)

    def fetch(self, key: Key, follower: int) -> None:
        leader, state = self.leads(key), self.state(key)
        if leader is None or follower == leader or follower not in self.live or follower not in state.replicas:
            return
        replica = self.replicas[key][follower]
        replica.follow(self.replicas[key][leader])
        if key[0] != "relaxed":
            replica.synced = len(replica.log)
        self.progress.setdefault(key, {})[follower] = (len(replica.log), self.live[follower])
        self.advance(key)

    def advance(self, key: Key) -> None:
        state, leader = self.state(key), self.leads(key)
        assert leader is not None
        config = topic_configs(DEFAULTS)(self.image.topics[key[0]])
        if len(state.isr) < min_isr_to_commit(state, config.min_insync_replicas):
            return
        own = self.replicas[key][leader]
        reached = len(own.log) if key[0] == "relaxed" else own.synced
        for each in {*state.isr, *self.proposed.get(key, ())} - {leader}:
            reached = min(reached, self._end_of(key, each))
        if reached > len(self.committed[key]):
            self.committed[key] = own.log[:reached]

    def _end_of(self, key: Key, follower: int) -> int:
        """As its last fetch showed it, in this leader's epoch; it may have restarted since."""
        return self.progress.get(key, {}).get(follower, (-1, 0))[0]

    def _min_isr(self, key: Key, state: PartitionState) -> int:
        config = topic_configs(DEFAULTS)(self.image.topics[key[0]])
        return effective_min_isr(state, config.min_insync_replicas)

    def propose(self, key: Key, replica: int, delay: bool) -> None:
        """The leader adds a replica that has caught up, or takes out one that has not."""
        state, leader = self.state(key), self.leads(key)
        if leader is None or replica == leader or replica not in state.replicas or key in self.proposed:
            return
        isr, added = [each for each in state.isr if each != replica], {}
        if replica not in state.isr:
            if self._end_of(key, replica) < len(self.replicas[key][leader].log):
                return
            isr, added = [*state.isr, replica], {replica: self.progress[key][replica][1]}
        try:
            commit = alter_isr(self.image, self.image.topics[key[0]].id, key[1], state, isr, added, DEFAULTS)
        except Refused:
            return
        self.proposed[key] = set(isr)
        if delay:
            self.in_flight.append(commit)
        elif not self.commit(commit):
            self.proposed.pop(key, None)

    def land(self) -> None:
        """What was on its way, from whoever; some of it out of date."""
        for commit in self.in_flight:
            self.commit(commit)
        self.in_flight.clear()
        self.proposed.clear()
