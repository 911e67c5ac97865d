"""Groups: how soon a large one is whole, how many commits a second, and how soon ten thousand have a coordinator again."""

import asyncio
import os
import signal
import time
from collections import defaultdict
from collections.abc import Coroutine

from bench.group_members import ANSWER_SECONDS_MAX, Member, connect, find_coordinators
from bench.native import ClientError
from bench.scenarios import Figures, Scenario, Stage
from bench.topics import topic
from headrace.client.connection import ClientConnection, Disconnected
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import Coordinator
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

MEMBERS = 100
PARTITIONS = 1000
RESTART_PAUSE_S = 0.02
COMMITTERS = 64
COMMIT_SECONDS = 6.0
GROUPS = 10_000
DEADLINE_S = 120.0
_COMMIT, _FETCH = 8, 8
_NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
_FETCHED_AT_ONCE = 500


def hundred_members(stage: Stage) -> Figures:
    with topic(stage.broker, PARTITIONS, fsync=False):
        return _within_deadline(_grow_and_restart(stage, f"members-{stage.round}"))


async def _grow_and_restart(stage: Stage, group: str) -> Figures:
    (coordinator,) = await find_coordinators(stage.broker.bootstrap, [group])
    members = [Member(coordinator, group, PARTITIONS) for _ in range(MEMBERS)]
    began = time.monotonic()
    for member in members:
        member.start()
    await _until_whole(members)
    grown = time.monotonic()
    for member in members:
        await member.leave()
        member.start()
        await asyncio.sleep(RESTART_PAUSE_S)
    await _until_whole(members)
    restarted = time.monotonic()
    await asyncio.gather(*(member.leave() for member in members))
    return {"first_assignment_s": grown - began, "rolling_restart_s": restarted - grown}


async def _until_whole(members: list[Member]) -> None:
    """All have their share of one generation."""
    while True:
        await asyncio.sleep(0.005)
        if members[0].generation >= 0 and len({member.generation for member in members}) == 1:
            return


def commits(stage: Stage) -> Figures:
    with topic(stage.broker, 1, fsync=False) as name:
        group = f"commits-{stage.round}"
        # Before the clock of the client runs, so that the internal topic is there.
        asyncio.run(find_coordinators(stage.broker.bootstrap, [group]))
        options = {"topic": name, "groups": COMMITTERS, "seconds": COMMIT_SECONDS * stage.scale, "name": group}
        done = stage.run("commit", options, {})
    return {"per_s": done["per_s"], "p99_ms": done["p99_ms"]}


async def _commit(connection: ClientConnection, group: str, name: str, offset: int) -> None:
    part = OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition(0, offset, committed_metadata="")])
    while True:
        answer = await connection.ask(
            OffsetCommitRequest(group, topics=[part]), OffsetCommitResponse, _COMMIT, ANSWER_SECONDS_MAX
        )
        code = answer.topics[0].partitions[0].error_code
        if not code:
            return
        if code not in _NOT_YET:
            raise ClientError(f"a commit of group {group} was refused with error {code}")
        await asyncio.sleep(0.05)


def lose_a_coordinator(stage: Stage) -> Figures:
    """Every group has committed once. A broker is killed; the figure ends when all its groups answer again."""
    with topic(stage.broker, 1, fsync=False, copies=3) as name:
        return _within_deadline(_fail_over(stage, name))


async def _fail_over(stage: Stage, name: str) -> Figures:
    groups = [f"kept-{number}" for number in range(int(GROUPS * stage.scale))]
    by_broker = defaultdict(list)
    for coordinator in await find_coordinators(stage.broker.bootstrap, groups):
        by_broker[coordinator.node_id].append(coordinator)
    await asyncio.gather(*(_commit_all(coordinators, name) for coordinators in by_broker.values()))
    # The first of them answers our questions afterwards, so it is another that dies.
    victim = sorted(by_broker)[1 + stage.round % (len(by_broker) - 1)]
    orphans = [coordinator.key for coordinator in by_broker[victim]]
    os.kill(stage.broker.pids[victim - 1], signal.SIGKILL)
    began = time.monotonic()
    for start in range(0, len(orphans), _FETCHED_AT_ONCE):
        await _until_all_answer(stage, orphans[start : start + _FETCHED_AT_ONCE], name)
    return {"again_after_s": time.monotonic() - began}


async def _commit_all(coordinators: list[Coordinator], name: str) -> None:
    connection = await connect(coordinators[0].host, coordinators[0].port)
    for start in range(0, len(coordinators), _FETCHED_AT_ONCE):
        some = coordinators[start : start + _FETCHED_AT_ONCE]
        await asyncio.gather(*(_commit(connection, each.key, name, 7) for each in some))
    connection.close()


async def _until_all_answer(stage: Stage, groups: list[str], name: str) -> None:
    missing = set(groups)
    while missing:
        by_address = defaultdict(list)
        for found in await find_coordinators(stage.broker.bootstrap, sorted(missing)):
            by_address[found.host, found.port].append(found.key)
        for (host, port), keys in by_address.items():
            try:
                connection = await connect(host, port)
                missing -= await _answering(connection, keys, name)
                connection.close()
            except Disconnected:
                await asyncio.sleep(0.05)


async def _answering(connection: ClientConnection, groups: list[str], name: str) -> set[str]:
    wanted = [
        OffsetFetchRequestGroup(group, topics=[OffsetFetchRequestTopics(name, partition_indexes=[0])])
        for group in groups
    ]
    answer = await connection.ask(OffsetFetchRequest(groups=wanted), OffsetFetchResponse, _FETCH, ANSWER_SECONDS_MAX)
    good = [found for found in answer.groups if not found.error_code]
    lost = [found.group_id for found in good if found.topics[0].partitions[0].committed_offset != 7]
    if lost:
        raise ClientError(f"{len(lost)} groups lost their commit, {lost[0]} among them")
    return {found.group_id for found in good}


def _within_deadline(work: Coroutine[None, None, Figures]) -> Figures:
    async def bounded() -> Figures:
        async with asyncio.timeout(DEADLINE_S):
            return await work

    return asyncio.run(bounded())


GROUP_SCENARIOS = [
    Scenario("groups-members", hundred_members),
    Scenario("groups-commits", commits),
    Scenario("groups-failover", lose_a_coordinator, brokers=3, fresh_runs=3),
]
