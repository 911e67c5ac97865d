"""Spark queries among the groups: they have no members, and what they commit says whose it is (`headrace.spark`)."""

from collections.abc import Sequence
from typing import NamedTuple

from headrace.admin.groups import GroupListed
from headrace.admin.lag import PartitionLag
from headrace.gateway.monitor.lags import GroupLags

# How the metadata of an offset begins that a query has committed.
MARK = "headrace: "


class Job(NamedTuple):
    group: str
    lags: Sequence[PartitionLag]

    @property
    def behind(self) -> int:
        return sum(each.lag or 0 for each in self.lags)

    @property
    def topics(self) -> list[str]:
        return sorted({each.id.topic for each in self.lags})


async def find_jobs(lags: GroupLags, groups: Sequence[GroupListed]) -> list[Job]:
    """Two rounds of questions, however many groups there are. One that cannot be asked now is left out until it can."""
    empty = {each.group for each in groups if each.state == "empty"}
    marked = {
        group: commits
        for group, commits in (await lags.committed()).items()
        if group in empty and any(commit.metadata.startswith(MARK) for commit in commits.values())
    }
    return [Job(group, behind) for group, behind in (await lags.behind(marked)).items()]
