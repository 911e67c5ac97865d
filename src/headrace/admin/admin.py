"""Admin questions to a cluster, for the APIs that other clients lack: any broker, or one by its number.

Connections are opened when they are needed and kept; versions are the highest that both sides know. A broker that does
not answer is passed over for the next address; every request here may be asked twice without harm. `Refused` carries a
broker's error code and its sentence; `Disconnected` means that nobody answered.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.kafka_cluster import KafkaCluster
from headrace.client.peer import Address
from headrace.client.security import Security
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from headrace.wire.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from headrace.wire.messages.replicas import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from headrace.wire.schema import Request, Response

# What the broker is told: it should give up first, and say why.
TIMEOUT_MS = 30_000
TOPIC = 2
BROKER = 4
_SET, _DELETE = 0, 1
_SENTENCES = {int(code): code.message for code in ErrorCode}

R = TypeVar("R", bound=Response)


class Resource(NamedTuple):
    """The owner of settings: a topic by its name, or a broker by its number."""

    kind: int
    name: str


class Admin:
    def __init__(self, bootstrap: Iterable[Address], client_id: str, security: Security | None = None) -> None:
        self._cluster = KafkaCluster(bootstrap, client_id=client_id, security=security)

    def close(self) -> None:
        self._cluster.disconnect()

    async def ask(self, request: Request, response: type[R]) -> R:
        """Any broker, the same one as long as it answers."""
        return await self._cluster.ask_any(request, response)

    async def ask_broker(self, broker_id: int, request: Request, response: type[R]) -> R:
        if not self._cluster.is_known(broker_id):
            await self.describe_cluster()
        return await self._cluster.ask_broker(broker_id, request, response)

    # -- what is there -----------------------------------------------------------------------------------------------

    async def describe_cluster(self) -> DescribeClusterResponse:
        """Brokers that are registered but not alive are among them, marked as fenced."""
        described = await self.ask(DescribeClusterRequest(include_fenced_brokers=True), DescribeClusterResponse)
        check(described.error_code, described.error_message)
        live = [each for each in described.brokers if not each.is_fenced]
        self._cluster.remember_brokers({each.broker_id: (each.host, each.port) for each in live})
        return described

    async def metadata(self, topics: Iterable[str] | None = None) -> MetadataResponse:
        """The metadata of these topics, or of all; a topic that does not exist comes with an error code."""
        wanted = None if topics is None else [MetadataRequestTopic(name=topic) for topic in topics]
        return await self.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False), MetadataResponse)

    async def log_dirs(self, broker_id: int) -> DescribeLogDirsResponse:
        found = await self.ask_broker(broker_id, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
        check(found.error_code, None)
        return found

    async def reassignments(self) -> ListPartitionReassignmentsResponse:
        listed = await self.ask(ListPartitionReassignmentsRequest(topics=None), ListPartitionReassignmentsResponse)
        check(listed.error_code, listed.error_message)
        return listed

    async def topic_configs(self, topics: Iterable[str], names: Sequence[str]) -> dict[str, dict[str, str | None]]:
        """The named settings of each topic; a topic that was deleted meanwhile is left out."""
        resources = [DescribeConfigsResource(TOPIC, topic, list(names)) for topic in topics]
        described = await self.ask(DescribeConfigsRequest(resources), DescribeConfigsResponse)
        return {
            result.resource_name: {each.name: each.value for each in result.configs}
            for result in described.results
            if not result.error_code
        }

    # -- what should change --------------------------------------------------------------------------------------------

    async def reassign(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, Refused]:
        """Begins to move partitions, or cancels (None); what was refused, and why."""
        topics: dict[str, ReassignableTopic] = {}
        for (topic, index), replicas in targets.items():
            wanted = ReassignablePartition(index, None if replicas is None else list(replicas))
            topics.setdefault(topic, ReassignableTopic(topic, [])).partitions.append(wanted)
        request = AlterPartitionReassignmentsRequest(TIMEOUT_MS, topics=list(topics.values()))
        answered = await self.ask(request, AlterPartitionReassignmentsResponse)
        check(answered.error_code, answered.error_message)
        return {
            TopicPartition(each.name, part.partition_index): Refused(part.error_code, part.error_message or "")
            for each in answered.responses
            for part in each.partitions
            if part.error_code
        }

    async def elect(
        self, election_type: int, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, Refused | None]:
        """The outcome of each election, None for a new leader. Without `partitions`, those that need no election are
        left out.
        """
        asked: list[TopicPartitions] | None = None
        if partitions is not None:
            topics: dict[str, TopicPartitions] = {}
            for topic, index in partitions:
                topics.setdefault(topic, TopicPartitions(topic, [])).partitions.append(index)
            asked = list(topics.values())
        request = ElectLeadersRequest(election_type, asked, TIMEOUT_MS)
        answered = await self.ask(request, ElectLeadersResponse)
        check(answered.error_code, None)
        return {
            TopicPartition(each.topic, part.partition_id): (
                Refused(part.error_code, part.error_message or "") if part.error_code else None
            )
            for each in answered.replica_election_results
            for part in each.partition_result
        }

    async def forget_broker(self, broker_id: int) -> None:
        """Unregisters a broker that is not alive, holds nothing, and will not come back."""
        answered = await self.ask(UnregisterBrokerRequest(broker_id), UnregisterBrokerResponse)
        check(answered.error_code, answered.error_message)

    async def alter_configs(self, changes: Mapping[Resource, Mapping[str, str | None]]) -> None:
        """Sets each setting, or with None goes back to its default."""
        resources = [
            IncrementalAlterConfigsResource(
                resource.kind,
                resource.name,
                [
                    IncrementalAlterableConfig(name, _DELETE if value is None else _SET, value)
                    for name, value in edits.items()
                ],
            )
            for resource, edits in changes.items()
        ]
        answered = await self.ask(IncrementalAlterConfigsRequest(resources), IncrementalAlterConfigsResponse)
        for each in answered.responses:
            check(each.error_code, each.error_message)


def check(code: int, message: str | None = None) -> None:
    """Raises the refusal that a reply carries."""
    if code:
        raise Refused(code, message or _SENTENCES.get(code, f"error {code}"))
