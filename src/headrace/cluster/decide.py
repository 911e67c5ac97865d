"""The controller's decisions: an image and the brokers alive in, commits out.

Level-triggered: `heal_steps` says what is left to do whatever happened before, so it is run on take-over and after every
change until it is empty, and a controller that dies half-way leaves nothing that the next would not find. A broker
counts as alive when it holds its lease under the epoch it is registered with.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import sweep_orphans
from headrace.cluster.elect import Election, effective_min_isr, elect
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.image import Image
from headrace.cluster.reassign import finish
from headrace.cluster.rewrite import NO_FENCE, Rewrite, alive, commit_rewrites, topic_configs
from headrace.cluster.store import OPERATIONS_MAX, Commit
from headrace.cluster.topic_config import TopicConfig


class Step(NamedTuple):
    commit: Commit
    unclean: int = 0
    """How many partitions it gives to a leader that may lack committed records."""


BREATH: Final = None
"""A pause between steps: a while was spent on looking, and nothing found."""

_LOOKS_PER_BREATH: Final = 2000


class HealDecision(NamedTuple):
    commits: list[Commit]
    unclean: int = 0


def heal(
    image: Image,
    live: Mapping[int, int],
    reluctant: Collection[int],
    defaults: BrokerConfig,
    fence: Mapping[str, int] = NO_FENCE,
    abandoned: Collection[bytes] = (),
) -> HealDecision:
    """Does `heal_steps` all at once: half a second for a hundred thousand partitions that all must change."""
    steps = list(filter(None, heal_steps(image, live, reluctant, defaults, fence, abandoned)))
    return HealDecision([step.commit for step in steps], sum(step.unclean for step in steps))


def heal_steps(
    image: Image,
    live: Mapping[int, int],
    reluctant: Collection[int],
    defaults: BrokerConfig,
    fence: Mapping[str, int] = NO_FENCE,
    abandoned: Collection[bytes] = (),
    topics: Collection[Topic] | None = None,
) -> Iterator[Step | None]:
    """Elects leaders for partitions whose leader is gone or going; then drops the dead from ISRs and finishes moves.

    Each commit is worked out when it is asked for, so that the caller can breathe in between. `abandoned` are topic ids
    whose orphans nobody is working on, and which are swept: those of a creation that is going on look the same, and
    would be taken from under it. `topics` are those worth a look, if it is known that the rest need nothing.
    """
    healer = _Healer(alive(image, live), reluctant, defaults)
    looked_at = image.topics.values() if topics is None else topics
    for urgent in (True, False):
        yield from _in_commits(healer.rewrites(looked_at, urgent), fence)
    if abandoned:
        yield from map(Step, sweep_orphans(image, abandoned, fence))


def _in_commits(rewrites: "Iterable[Treated | None]", fence: Mapping[str, int]) -> Iterator[Step | None]:
    batch: list[Treated] = []
    for treated in rewrites:
        if treated is None:
            yield BREATH
            continue
        batch.append(treated)
        if len(batch) == OPERATIONS_MAX - len(fence):
            yield _step(batch, fence)
            batch = []
    if batch:
        yield _step(batch, fence)


def _step(batch: "list[Treated]", fence: Mapping[str, int]) -> Step:
    (commit,) = commit_rewrites([rewrite for rewrite, _ in batch], fence)
    return Step(commit, sum(unclean for _, unclean in batch))


class Treated(NamedTuple):
    rewrite: Rewrite
    unclean: bool


class _Healer:
    """Treats partitions that look alike alike: of a hundred thousand most do, so each look is decided once."""

    def __init__(self, ready: frozenset[int], reluctant: Collection[int], defaults: BrokerConfig) -> None:
        self._ready = ready
        self._reluctant = frozenset(reluctant)
        self._staying = ready - self._reluctant
        self._config_of = topic_configs(defaults)
        self._decided: dict[tuple[PartitionState, int, bool], Election | None] = {}

    def rewrites(self, topics: Iterable[Topic], urgent: bool) -> Iterator[Treated | None]:
        """The changed partitions; with `urgent` only those without a leader that stays. None now and then, for a pause."""
        ready, staying = self._ready, self._staying
        looks = 0
        for topic in topics:
            looks += len(topic.partitions)
            if looks > _LOOKS_PER_BREATH:
                looks = 0
                yield None
            for index, state in enumerate(topic.partitions):
                if (state.leader in staying) is urgent or not state.replicas:
                    continue
                if not urgent and ready.issuperset(state.isr) and not (state.elr or state.adding or state.removing):
                    continue
                after = self.treat(state, self._config_of(topic))
                if after is not None:
                    yield Treated(Rewrite(topic, index, after.state), after.unclean)

    def treat(self, state: PartitionState, config: TopicConfig) -> Election | None:
        replicas, isr, leader, _, _, elr, adding, removing, damaged, _ = state
        look = PartitionState(replicas, isr, leader, 0, 0, elr, adding, removing, damaged)
        key = (look, config.min_insync_replicas, config.unclean_leader_election_enable)
        if key not in self._decided:
            self._decided[key] = self._decide(*key)
        decided = self._decided[key]
        return None if decided is None else Election(_later(decided.state, state), decided.unclean)

    def _decide(self, state: PartitionState, min_insync_replicas: int, unclean: bool) -> Election | None:
        min_isr = effective_min_isr(state, min_insync_replicas)
        led, is_unclean = elect(state, self._ready, self._reluctant, min_isr=min_isr, unclean=unclean) or Election(
            state
        )
        after = finish(led, self._ready, self._reluctant)
        return None if after is state else Election(after, is_unclean)


def _later(state: PartitionState, than: PartitionState) -> PartitionState:
    """The state with the epochs of `than` added to its own. Not `_replace`, which takes four times as long."""
    replicas, isr, leader, leader_epoch, partition_epoch, elr, adding, removing, damaged, _ = state
    leader_epoch += than.leader_epoch
    partition_epoch += than.partition_epoch
    return PartitionState(replicas, isr, leader, leader_epoch, partition_epoch, elr, adding, removing, damaged)


def shut_down(
    image: Image,
    broker_id: int,
    live: Mapping[int, int],
    reluctant: Collection[int],
    defaults: BrokerConfig,
    fence: Mapping[str, int] = NO_FENCE,
) -> list[Commit]:
    """Gives the leaderships of a broker to others in sync. Empty once nobody else can lead the rest: it may stop."""
    healer = _Healer(alive(image, live), {*reluctant, broker_id}, defaults)
    moved = [
        rewrite
        for rewrite, unclean in filter(None, healer.rewrites(image.topics.values(), urgent=True))
        if _leader_before(rewrite) == broker_id != rewrite.after.leader and not unclean
    ]
    return commit_rewrites(moved, fence)


def _leader_before(rewrite: Rewrite) -> int:
    return rewrite.topic.partitions[rewrite.partition].leader
