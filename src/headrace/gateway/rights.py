"""Rights of a gateway's login, as brokers tell them (authorized_operations), for what is offered and what is hidden.

Nothing that brokers do is allowed by this: they decide. A broker that tells no operations takes part in no decision, so
nothing is hidden then. What the gateway itself shows of the whole cluster is for those alone who were told to have the
right.
"""

import time
from collections.abc import Iterable
from enum import IntEnum

from headrace.admin.admin import Admin, check
from headrace.admin.coordinators import at_coordinator
from headrace.admin.tokens import who_asks
from headrace.base.errors import Refused
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import DescribeClusterRequest, DescribeClusterResponse
from headrace.wire.messages.groups_admin import DescribeGroupsRequest, DescribeGroupsResponse
from headrace.wire.messages.groups_consumer import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

KNOWN_SECONDS = 5.0
NOT_TOLD = -(2**31)


class Right(IntEnum):
    """Kafka's numbers."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11


def is_allowed(operations: int, operation: Right) -> bool:
    """Whether a field of authorized operations has this one."""
    return operations == NOT_TOLD or bool(operations >> operation & 1)


class ClusterRights:
    """The operations on the cluster of one login, asked for now and then."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._until = -float("inf")
        self.last = 0
        """The operations that were told last; none before that."""
        self._principal = ""

    async def principal(self) -> str:
        """The user whose rights these are, as brokers know them."""
        self._principal = self._principal or await who_asks(self._admin)
        return self._principal

    def may(self, operation: Right) -> bool:
        return is_allowed(self.last, operation)

    def has(self, operation: Right) -> bool:
        """Whether a broker told this operation."""
        return self.last != NOT_TOLD and is_allowed(self.last, operation)

    async def look(self) -> int:
        if time.monotonic() > self._until:
            request = DescribeClusterRequest(include_cluster_authorized_operations=True)
            self.last = (await self._admin.ask(request, DescribeClusterResponse)).cluster_authorized_operations
            self._until = time.monotonic() + KNOWN_SECONDS
        return self.last

    async def require(self, operations: Iterable[Right]) -> None:
        """Refused as by a broker, for what the gateway has and no broker is asked for."""
        await self.look()
        if not all(self.has(each) for each in operations):
            raise Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")


async def topic_operations(admin: Admin, topic: str) -> int:
    """The field of authorized operations on a topic."""
    wanted = [MetadataRequestTopic(name=topic)]
    request = MetadataRequest(wanted, allow_auto_topic_creation=False, include_topic_authorized_operations=True)
    (found,) = (await admin.ask(request, MetadataResponse)).topics
    check(found.error_code)
    return found.topic_authorized_operations


async def group_operations(admin: Admin, group: str) -> int:
    """The same on a group, of either protocol."""

    async def ask(coordinator: int) -> int:
        newer = ConsumerGroupDescribeRequest([group], include_authorized_operations=True)
        (found,) = (await admin.ask_broker(coordinator, newer, ConsumerGroupDescribeResponse)).groups
        if not found.error_code:
            return found.authorized_operations
        classic = DescribeGroupsRequest([group], include_authorized_operations=True)
        (older,) = (await admin.ask_broker(coordinator, classic, DescribeGroupsResponse)).groups
        check(older.error_code)
        return older.authorized_operations

    return await at_coordinator(admin, group, ask)
