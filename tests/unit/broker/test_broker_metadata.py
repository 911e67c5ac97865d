"""Changing metadata: planned on what is known, compared with what is stored, planned again after somebody else's change."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from headrace.base.clock import Now
from headrace.base.errors import Refused, StoreUnreachable
from headrace.broker.membership.metadata import CHANGE_TRIES, Metadata
from headrace.cluster.entities import PartitionState
from headrace.cluster.image import Image
from headrace.cluster.records import TopicRecord, encode, partition_key, topic_key
from headrace.cluster.registration import found_cluster
from headrace.cluster.store import Changes, Commit, Snapshot
from headrace.stores.memory import MemoryShelf, MemoryStore
from headrace.wire.codes import ErrorCode
from quiet_loop import QuietLoop

KEY = "producer-ids"
SLOW_SECONDS = 10.0


class Clock:
    def now(self) -> Now:
        return Now(0.0, 0)

    def boot_id(self) -> str:
        return "boot"


class World:
    """A store, one broker's view of it, and somebody else who writes there too."""

    def __init__(self) -> None:
        self.loop = QuietLoop()
        self.shelf = MemoryShelf()
        self.store = MemoryStore(self.shelf, Clock())
        self.shown: list[int] = []
        self.is_slow = False
        self.hears = asyncio.Event()
        self.hears.set()
        hear = self.store.watch

        async def watch(after: int) -> AsyncIterator[Changes]:
            async for changes in hear(after):
                await self.hears.wait()
                yield changes

        self.store.watch = watch  # type: ignore[method-assign]
        self.metadata = Metadata(self.store, self._on_image, self.loop.time)
        self.shelf.commit(found_cluster("x" * 22).puts, {})
        self.loop.run(self.metadata.load())
        self.loop.create_task(self.metadata.run_watch())
        self.loop.run_ready()

    async def _on_image(self, image: Image) -> None:
        if self.is_slow:
            await asyncio.sleep(SLOW_SECONDS)
        self.shown.append(image.revision)

    def commit_as_other(self) -> None:
        self.shelf.commit({"someone-elses": b"{}"}, {})

    def run_out_of_history(self) -> None:
        """Whoever lags behind has to load everything."""
        self.commit_as_other()
        self.shelf.history.clear()


@pytest.fixture
def world() -> World:
    return World()


def put(image: Image) -> list[Commit]:
    return [Commit({"ours": b"{}"}, {})]


def test_a_change_is_visible_before_it_is_done(world: World) -> None:
    world.loop.run(world.metadata.change(put))
    assert world.shown[-1] == world.shelf.revision


def test_after_a_conflict_it_is_planned_again_on_what_the_other_did(world: World) -> None:
    planned_on: list[int] = []

    def plan(image: Image) -> list[Commit]:
        planned_on.append(image.revision)
        if len(planned_on) == 1:
            world.commit_as_other()
        return [Commit({"ours": b"{}"}, {"someone-elses": 0 if len(planned_on) == 1 else image.revision})]

    world.loop.run(world.metadata.change(plan))
    assert len(planned_on) == 2
    assert planned_on[1] > planned_on[0]


def test_who_always_loses_gives_up(world: World) -> None:
    tries = []

    def plan(image: Image) -> list[Commit]:
        tries.append(image.revision)
        world.commit_as_other()
        return [Commit({"ours": b"{}"}, {"someone-elses": 1})]

    with pytest.raises(Refused) as refused:
        world.loop.run(world.metadata.change(plan))
    assert refused.value.code == ErrorCode.REQUEST_TIMED_OUT
    assert len(tries) == CHANGE_TRIES


def test_a_refusal_of_the_plan_is_the_answer_and_nothing_is_written(world: World) -> None:
    def plan(image: Image) -> list[Commit]:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS)

    before = world.shelf.revision
    with pytest.raises(Refused):
        world.loop.run(world.metadata.change(plan))
    assert world.shelf.revision == before


def test_validating_only_writes_nothing(world: World) -> None:
    before = world.shelf.revision
    world.loop.run(world.metadata.change(put, validate_only=True))
    assert world.shelf.revision == before


def test_a_store_that_is_cut_off_is_no_reason_to_guess(world: World) -> None:
    world.store.unreachable = True
    with pytest.raises(Refused) as refused:
        world.loop.run(world.metadata.change(put))
    assert refused.value.code == ErrorCode.REQUEST_TIMED_OUT


def test_showing_again_asks_for_the_same_image(world: World) -> None:
    world.loop.run(world.metadata.show_again())
    assert world.shown[-2:] == [world.shelf.revision] * 2


def test_news_that_is_not_applied_yet_makes_the_image_old(world: World) -> None:
    assert world.metadata.as_of() == world.loop.time()
    world.commit_as_other()
    world.is_slow = True
    world.loop.run_ready()
    since = world.loop.time()
    world.loop.pass_time(5.0)
    assert world.metadata.as_of() == since
    world.loop.pass_time(SLOW_SECONDS)
    assert world.metadata.as_of() == world.loop.time()


def test_a_gap_in_the_history_is_bridged_by_a_load(world: World) -> None:
    world.run_out_of_history()
    world.loop.pass_time(1.0)
    assert world.metadata.image.revision == world.shelf.revision


async def _out_of_reach() -> Snapshot:
    raise StoreUnreachable("cut off")


def test_a_gap_while_the_store_is_cut_off_is_bridged_when_it_is_back(world: World) -> None:
    world.run_out_of_history()
    reach, world.store.load = world.store.load, _out_of_reach  # type: ignore[method-assign]
    world.loop.pass_time(10.0)
    world.store.load = reach  # type: ignore[method-assign]
    world.loop.pass_time(1.0)
    assert world.metadata.image.revision == world.shelf.revision
    world.commit_as_other()
    world.loop.pass_time(1.0)
    assert world.metadata.image.revision == world.shelf.revision


def test_without_a_watch_the_image_is_loaded_when_there_is_news(world: World) -> None:
    """Some ways to a store carry calls and no streams."""

    async def ends_at_once(after: int) -> AsyncIterator[Changes]:
        raise StoreUnreachable("no stream comes through")
        yield

    world.store.watch = ends_at_once  # type: ignore[method-assign]
    world.run_out_of_history()
    world.loop.pass_time(1.0)
    before = len(world.shown)
    world.loop.pass_time(5.0)
    assert len(world.shown) == before, "there is no news"
    world.commit_as_other()
    world.loop.pass_time(1.0)
    assert world.metadata.image.revision == world.shelf.revision


TOPIC_ID = b"t" * 16


def put_topic(world: World) -> None:
    one = PartitionState((1,), (1,), 1)
    puts = {topic_key("t"): encode(TopicRecord(TOPIC_ID, 2, {}))}
    puts |= {partition_key(TOPIC_ID, index): encode(one) for index in (0, 1)}
    world.shelf.commit(puts, {})
    world.loop.pass_time(1.0)


def test_what_is_loaded_again_and_did_not_change_is_the_same_object(world: World) -> None:
    """Another one would be taken for a newly committed state, and end a change of the in-sync set that is on its way."""
    put_topic(world)
    known = world.metadata.image.topics["t"].partitions
    world.hears.clear()
    world.shelf.commit({partition_key(TOPIC_ID, 1): encode(PartitionState((1, 2), (1,), 1))}, {})
    world.loop.run(world.metadata.load())
    first, second = world.metadata.image.topics["t"].partitions
    assert first is known[0]
    assert second.replicas == (1, 2)
    topic = world.metadata.image.topics["t"]
    world.commit_as_other()
    world.loop.run(world.metadata.load())
    assert world.metadata.image.revision == world.shelf.revision
    assert world.metadata.image.topics["t"] is topic
