"""Spark queries among the groups: they have no members, and what they commit says whose it is (`headrace.spark`)."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.client.admin import Admin
from headrace.client.connection import Disconnected
from headrace.client.groups import GroupListed
from headrace.client.lag import PartitionLag, lag_of

# How the metadata of an offset begins that a query has committed.
MARK = "headrace: "
AT_ONCE_MAX = 8


class Job(NamedTuple):
    group: str
    lags: Sequence[PartitionLag]

    @property
    def behind(self) -> int:
        return sum(each.lag or 0 for each in self.lags)

    @property
    def topics(self) -> list[str]:
        return sorted({each.id.topic for each in self.lags})


async def find_jobs(admin: Admin, groups: Sequence[GroupListed]) -> list[Job]:
    """A group that cannot be asked now is left out until it can."""
    slots = asyncio.Semaphore(AT_ONCE_MAX)

    async def look(group: str) -> Job | None:
        async with slots:
            try:
                lags = await lag_of(admin, group)
            except (Refused, Disconnected):
                return None
        return Job(group, lags) if any(each.metadata.startswith(MARK) for each in lags) else None

    found = await asyncio.gather(*(look(each.group) for each in groups if each.state == "empty"))
    return [job for job in found if job is not None]
