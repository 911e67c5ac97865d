"""Spark queries among many groups, before a real broker: found by their mark, and not by a question for each group."""

import asyncio
import uuid
from collections.abc import Callable
from typing import TypeVar

from headrace.admin.admin import Admin
from headrace.admin.groups import NewCommit, commit, list_groups
from headrace.base.bootstrap import parse_bootstrap
from headrace.base.ids import TopicPartition
from headrace.client.peer import Address
from headrace.gateway.monitor.lags import GroupLags
from headrace.gateway.ui.jobs import MARK, Job, find_jobs
from headrace.testing import Broker
from headrace.wire.schema import Request, Response

R = TypeVar("R", bound=Response)


class CountingAdmin(Admin):
    asked = 0

    async def _ask_at(self, address: Address, request: Request, response: type[R]) -> R:
        self.asked += 1
        return await super()._ask_at(address, request, response)


def test_jobs_are_found_by_as_many_questions_however_many_groups_there_are(
    broker: Broker, new_topic: Callable[..., str]
) -> None:
    topic, name = new_topic(partitions=2), f"g-{uuid.uuid4().hex[:8]}"

    async def look() -> None:
        admin = CountingAdmin(parse_bootstrap(broker.bootstrap), "test")
        lags = GroupLags(admin)

        async def add(group: str, metadata: str) -> None:
            refused = await commit(admin, group, {TopicPartition(topic, 1): NewCommit(0, metadata=metadata)})
            assert not refused

        async def find() -> tuple[list[Job], int]:
            groups = await list_groups(admin)
            before = admin.asked
            return await find_jobs(lags, groups), admin.asked - before

        try:
            await add(f"{name}-job", f"{MARK}progress")
            await find()  # learns the names of topics
            _, questions = await find()
            for number in range(20):
                await add(f"{name}-{number}", "")
            jobs, then = await find()
            assert then == questions
            (job,) = [each for each in jobs if each.group.startswith(name)]
            assert (job.group, job.topics, job.behind) == (f"{name}-job", [topic], 0)
        finally:
            admin.close()

    asyncio.run(look())
