"""Any order of losses, returns, shutdowns, moves and stale commits: no committed record is lost by a clean decision."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from lives import BROKERS, DEFAULTS, Key, Lives

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.cluster.config_changes import Edit, Operation, alter_topic_config
from headrace.cluster.decide import heal, shut_down
from headrace.cluster.leadership import balance_leaders, elect_leaders
from headrace.cluster.reassign import list_reassignments, reassign

KEYS: list[Key] = [("durable", 0), ("relaxed", 0), ("unclean", 0)]
STEPS = 120


class Storm:
    """Each step is one of these, the more often the higher its weight."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = Lives()
        self.steps = {
            self.replicate: 8,
            self.fetch: 6,
            self.change_isr: 12,
            self.heal_fully: 6,
            self.start_broker: 8,
            self.lose_broker: 4,
            self.damage_log: 4,
            self.produce: 4,
            self.heal_and_die: 3,
            self.land_what_is_in_flight: 2,
            self.move: 3,
            self.cancel_move: 1,
            self.shut_broker_down: 2,
            self.balance: 2,
            self.change_minimum: 1,
            self.insist_on_a_leader: 1,
            self.lose_power_everywhere: 0.5,
        }

    def run(self) -> None:
        for step in self.random.choices(list(self.steps), list(self.steps.values()), k=STEPS):
            step()
        self.calm()

    def any_key(self) -> Key:
        return self.random.choice(KEYS)

    def any_broker(self) -> int:
        return self.random.choice(BROKERS)

    def maybe(self) -> bool:
        return self.random.random() < 0.5

    def lose_broker(self) -> None:
        self.world.kill(self.any_broker(), power=self.maybe())

    def lose_power_everywhere(self) -> None:
        for broker in BROKERS:
            self.world.kill(broker, power=True)

    def damage_log(self) -> None:
        dead = [broker for broker in BROKERS if broker not in self.world.live]
        if dead:
            self.world.harm(self.random.choice(dead), self.any_key(), self.random.randrange(8))

    def start_broker(self) -> None:
        """One that is down, or sometimes one that nobody has noticed was down."""
        dead = [broker for broker in BROKERS if broker not in self.world.live]
        broker = self.random.choice(dead) if dead and self.random.random() < 0.9 else self.any_broker()
        self.world.kill(broker, power=False)
        self.world.start(broker, self.random.choice([1, 2, 100]), overtaken=self.maybe())

    def shut_broker_down(self) -> None:
        world, broker = self.world, self.any_broker()
        if broker in world.live:
            world.leaving.add(broker)
            assert world.run(shut_down(world.image, broker, world.live, world.leaving, DEFAULTS))
            assert not shut_down(world.image, broker, world.live, world.leaving, DEFAULTS)

    def heal_and_die(self) -> None:
        world, done = self.world, self.random.randrange(2)
        commits = heal(world.image, world.live, world.leaving, DEFAULTS).commits
        world.run(commits[:done])
        world.in_flight += commits[done:]

    def heal_fully(self) -> None:
        world = self.world
        before = world.unclean_seen
        decision = heal(world.image, world.live, world.leaving, DEFAULTS)
        assert world.run(decision.commits)
        assert world.unclean_seen - before == decision.unclean
        assert not heal(world.image, world.live, world.leaving, DEFAULTS).commits
        for key in KEYS:
            self.check_led(key)

    def check_led(self, key: Key) -> None:
        state = self.world.state(key)
        if self.world.eligible(key, state) & set(self.world.live):
            assert state.leader in self.world.live
            assert set(state.isr) <= set(self.world.live)

    def produce(self) -> None:
        self.world.produce(self.any_key(), sync=self.maybe())

    def fetch(self) -> None:
        self.world.fetch(self.any_key(), self.any_broker())

    def replicate(self) -> None:
        key = self.any_key()
        self.world.produce(key, sync=True)
        for follower in BROKERS:
            self.world.fetch(key, follower)

    def change_isr(self) -> None:
        self.world.propose(self.any_key(), self.any_broker(), delay=self.random.random() < 0.3)

    def land_what_is_in_flight(self) -> None:
        self.world.land()

    def move(self) -> None:
        self.reassign(self.random.sample(BROKERS, self.random.randrange(1, len(BROKERS))))

    def cancel_move(self) -> None:
        self.reassign(None)

    def reassign(self, target: list[int] | None) -> None:
        world = self.world
        try:
            commit = reassign(world.image, world.live, *self.any_key(), target, DEFAULTS)
        except Refused:
            return
        if commit is not None:
            assert world.commit(commit)

    def change_minimum(self) -> None:
        world, minimum = self.world, str(self.random.randrange(1, 4))
        edits = [Edit("min.insync.replicas", Operation.SET, minimum)]
        assert world.commit(alter_topic_config(world.image, self.any_key()[0], edits, DEFAULTS))

    def insist_on_a_leader(self) -> None:
        world, partition = self.world, TopicPartition(*self.any_key())
        before = world.unclean_seen
        outcomes, commits, unclean = elect_leaders(world.image, world.live, 1, [partition], DEFAULTS)
        assert world.run(commits)
        assert world.unclean_seen - before == unclean
        assert outcomes[partition].code != 0 or world.leads(partition) is not None

    def balance(self) -> None:
        world = self.world
        assert world.run(balance_leaders(world.image, world.live, self.random.randrange(1, 4), world.leaving))

    def calm(self) -> None:
        """Everyone is back and fetches: everything is led, in sync and where it should be."""
        world = self.world
        world.land()
        world.leaving.clear()
        for broker in BROKERS:
            if broker not in world.live:
                world.start(broker)
        for _ in range(len(BROKERS)):
            assert world.run(heal(world.image, world.live, (), DEFAULTS).commits)
            for key in KEYS:
                for broker in BROKERS:
                    world.fetch(key, broker)
                    if broker not in world.state(key).isr:
                        world.propose(key, broker, delay=False)
        assert world.run(heal(world.image, world.live, (), DEFAULTS).commits)
        for key in KEYS:
            state = world.state(key)
            if not state.damaged:
                assert set(state.isr) == set(state.replicas), state
                assert key not in [(each.topic, each.partition) for each in list_reassignments(world.image)]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_no_clean_decision_loses_a_committed_record(seed: int) -> None:
    Storm(seed).run()
