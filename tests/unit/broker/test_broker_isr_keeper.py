"""Changes of an in-sync set between a partition and the store: what an ack waits for meanwhile, and what ends the wait."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from batches import NOW, batch, config
from headrace.base.errors import StoreUnreachable
from headrace.broker.hosting.topic_settings import log_config
from headrace.broker.replication.isr_keeper import IsrKeeper
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import PartitionState
from headrace.cluster.records import broker_key, partition_key
from headrace.cluster.store import Conflict
from headrace.log.config import LogConfig
from partition_rig import ID, PartitionRig

OUTSIDE = PartitionState((1, 2, 3), (1, 2), 1, 5, revision=9)
OWN_KEY = partition_key(b"i" * 16, 0)


class Waiter:
    def __init__(self) -> None:
        self.told: list[object] = []

    def is_waiting(self, part: object) -> bool:
        return True

    def on_reached(self, part: object) -> None:
        self.told.append("reached")

    def on_lost(self, part: object, code: int) -> None:
        self.told.append(code)


class Store:
    """Answers each commit with the next of `outcomes`; no more of them is no answer."""

    def __init__(self) -> None:
        self.outcomes: list[Exception] = []
        self.seen: list[tuple[Mapping[str, bytes | None], Mapping[str, int]]] = []

    async def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        self.seen.append((puts, expect))
        if self.outcomes:
            raise self.outcomes.pop(0)
        return 10


class Rig:
    """Broker 1 leads, 2 is in sync, 3 has asked to join; then a record is on the disks of 1 and 2 only."""

    def __init__(self) -> None:
        self.rig = PartitionRig(OUTSIDE, min_insync_replicas=2)
        self.partition = self.rig.partition
        self.store = Store()
        self.live = {1: 1, 2: 1, 3: 7}
        registered = {each: SimpleNamespace(epoch=epoch, revision=each) for each, epoch in self.live.items()}
        topic = SimpleNamespace(name=ID.topic, config={})
        self.image: Any = SimpleNamespace(
            partition=lambda topic, index: self.partition.state,
            topic_by_id=lambda id: topic,
            brokers=registered,
        )
        view: Any = SimpleNamespace(
            image=self.image,
            live=self.live,
            id=1,
            config=BrokerConfig(),
            metadata=SimpleNamespace(store=self.store),
        )
        self.keeper = IsrKeeper(view)
        self.waiter = Waiter()
        self.partition.in_sync.on_follower_fetch(3, 7, 0, NOW)
        self.rig.carry_out()
        ((_, self.proposal),) = self.rig.proposals
        appended = self.rig.append(batch(b"a"))
        self.partition.wait(appended.end_offset, -1, self.waiter, None)
        self.rig.sync()
        self.partition.in_sync.on_follower_fetch(2, 1, 1, NOW)
        self.rig.carry_out()
        assert self.waiter.told == [], "the joiner counts from the moment it is proposed"

    def commit(self) -> None:
        asyncio.run(self.keeper._commit({self.partition: self.proposal}))
        self.rig.carry_out()


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr("headrace.broker.replication.isr_keeper.RETRY_SECONDS", 0)
    return Rig()


def test_a_changed_setting_does_not_end_a_proposal(rig: Rig) -> None:
    changed = config(min_insync_replicas=2, retention_ms=5)
    rig.partition.on_config(changed, log_config(changed, LogConfig()))
    assert rig.partition.in_sync.is_proposed(rig.proposal)
    assert rig.waiter.told == []


def test_a_dead_joiner_that_the_store_never_heard_of_holds_nothing_up(rig: Rig) -> None:
    del rig.live[3]
    rig.commit()
    assert rig.store.seen == []
    assert rig.waiter.told == ["reached"]


def test_another_life_of_the_joiner_holds_nothing_up(rig: Rig) -> None:
    rig.store.outcomes = [Conflict([broker_key(3)])]
    rig.commit()
    assert rig.waiter.told == ["reached"]


def test_of_several_that_conflict_each_is_sent_again_alone(rig: Rig) -> None:
    other = Rig()
    rig.store.outcomes = [Conflict([broker_key(3)])]
    asyncio.run(rig.keeper._commit({rig.partition: rig.proposal, other.partition: other.proposal}))
    assert len(rig.store.seen) == 3
    assert rig.partition.in_sync.is_proposed(rig.proposal), "nobody has refused this one"


def test_a_newer_state_of_the_partition_is_waited_for(rig: Rig) -> None:
    rig.store.outcomes = [Conflict([OWN_KEY])]
    rig.commit()
    assert rig.waiter.told == []
    rig.partition.on_state(OUTSIDE._replace(revision=10), NOW)
    rig.rig.carry_out()
    assert rig.waiter.told == ["reached"]


@pytest.mark.parametrize("died", ["dead", "registered anew"])
def test_a_proposal_in_doubt_outlives_its_joiner(rig: Rig, died: str) -> None:
    rig.store.outcomes = [StoreUnreachable("no answer")]
    rig.commit()
    if died == "dead":
        del rig.live[3]
    else:
        rig.image.brokers[3] = SimpleNamespace(epoch=8, revision=9)
    rig.commit()
    assert rig.waiter.told == [], "it may have been committed, or may be yet"
    puts, expect = rig.store.seen[-1]
    assert (list(puts), expect) == ([OWN_KEY], {OWN_KEY: 9}), "the state of now, once more"
    rig.partition.on_state(OUTSIDE._replace(revision=10), NOW)
    rig.rig.carry_out()
    assert rig.waiter.told == ["reached"]


def test_the_state_that_a_proposal_in_doubt_became_is_waited_for(rig: Rig) -> None:
    rig.store.outcomes = [StoreUnreachable("no answer"), Conflict([OWN_KEY])]
    rig.commit()
    del rig.live[3]
    rig.commit()
    rig.partition.on_state(OUTSIDE._replace(isr=(1, 2, 3), revision=10), NOW)
    rig.rig.carry_out()
    assert rig.waiter.told == [], "now it is in sync, and does not have the record"
    rig.partition.in_sync.on_follower_fetch(3, 7, 1, NOW)
    rig.rig.carry_out()
    assert rig.waiter.told == ["reached"]


def test_the_leaders_word_counts_as_far_as_the_fetch_has_shown_our_log_to_be_its_own() -> None:
    follower = PartitionRig(OUTSIDE._replace(leader=1)).partition
    follower.appends.append(memoryview(batch(b"a", b"b", b"c")), 1, 9, NOW)
    follower.on_state(OUTSIDE._replace(leader=2, leader_epoch=6), NOW)
    follower.following.on_leader_word(3, 0, matching_end=1)
    assert follower.high_watermark == 1
