"""Lag of many groups at once: one that is refused takes no other with it."""

import asyncio
from typing import TypeVar

from headrace.admin.admin import Admin
from headrace.admin.lag import CommittedOffset, PartitionLag
from headrace.base.ids import TopicPartition
from headrace.gateway.monitor.lags import Committed, GroupLags
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import DescribeClusterBroker, DescribeClusterResponse
from headrace.wire.messages.group_offsets import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from headrace.wire.messages.groups_admin import ListedGroup, ListGroupsResponse
from headrace.wire.schema import Request, Response

R = TypeVar("R", bound=Response)
ORDERS = TopicPartition("orders", 0)


class SaidGroups(Admin):
    """One broker with two groups, of which one may be refused."""

    refusal = 0

    async def describe_cluster(self) -> DescribeClusterResponse:
        return DescribeClusterResponse(brokers=[DescribeClusterBroker(1, "a", 9092)])

    async def ask_broker(self, broker_id: int, request: Request, response: type[R]) -> R:
        topic = OffsetFetchResponseTopics(name="orders", partitions=[OffsetFetchResponsePartitions(0, 40)])
        groups = [
            OffsetFetchResponseGroup("billing", [topic]),
            OffsetFetchResponseGroup("moved", [] if self.refusal else [topic], self.refusal),
        ]
        listed = ListGroupsResponse(groups=[ListedGroup(each.group_id) for each in groups])
        return next(each for each in (listed, OffsetFetchResponse(groups=groups)) if isinstance(each, response))


class EndsAtHundred(GroupLags):
    async def behind(self, committed: Committed) -> dict[str, list[PartitionLag]]:
        return {
            group: [PartitionLag(id, commit.offset, 0, 100, "") for id, commit in commits.items()]
            for group, commits in committed.items()
        }


def test_a_group_that_is_refused_leaves_the_others() -> None:
    admin = SaidGroups([], "test")
    lags = EndsAtHundred(admin)
    seen = asyncio.run(lags.look())
    assert seen == ({"billing": {ORDERS: 60}, "moved": {ORDERS: 60}}, frozenset(), True)
    admin.refusal = ErrorCode.NOT_COORDINATOR
    seen = asyncio.run(lags.look())
    assert seen == ({"billing": {ORDERS: 60}}, frozenset({"moved"}), False)
    assert asyncio.run(lags.committed()) == {"billing": {ORDERS: CommittedOffset(40, "")}}
