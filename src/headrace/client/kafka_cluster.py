"""A Kafka cluster as its clients reach it: any broker, the leader of a partition, a coordinator; metadata is remembered.

Every question may be asked again, of the new leader or coordinator. What does not pass by waiting is raised: `Refused` with
Kafka's error code, or `Disconnected` when nobody answered in time.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from headrace.base.bootstrap import parse_bootstrap
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_metadata import ClusterMetadata, TopicMetadata, cluster_metadata
from headrace.client.connection import Disconnected
from headrace.client.metadata_cache import Leader, MetadataCache
from headrace.client.peer import Address, PeerConnections
from headrace.client.retry import insist, may_pass
from headrace.client.security import Security
from headrace.wire.codes import CODES, ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest, FindCoordinatorResponse
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from headrace.wire.schema import Request, Response

GROUP, TRANSACTION = 0, 1
CLUSTER_REQUEST_SECONDS_MAX = 30.0
# A topic that was made a moment ago may be news to the broker that is asked.
NEWS_SECONDS_MAX = 5.0

R = TypeVar("R", bound=Response)


class NoSuchPartition(Refused):
    """A topic or partition number that the metadata lacks: final for a reader. On one broker alone it may pass."""


class MissingTopic(Exception):
    """A topic that no broker has, nor has made when it was asked for."""


class KafkaCluster:
    def __init__(self, bootstrap: str | Iterable[Address], *, client_id: str, security: Security | None = None) -> None:
        self._bootstrap = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self._answered: tuple[Address, ...] = ()
        """The broker that answered last, if any has."""
        self._peers = PeerConnections(client_id, security)
        self._cache = MetadataCache()
        self._coordinators: dict[tuple[int, str], Address] = {}
        self._looking = asyncio.Lock()

    async def close(self) -> None:
        self.disconnect()

    def disconnect(self) -> None:
        self._peers.close()

    async def ask_any(self, request: Request, response: type[R]) -> R:
        """Any broker, the same one as long as it answers."""
        reasons = []
        for address in dict.fromkeys([*self._answered, *self._cache.brokers.values(), *self._bootstrap]):
            try:
                reply = await self._peers.ask(address, request, response)
            except Disconnected as error:
                reasons.append(f"{address[0]}:{address[1]}: {error}")
                continue
            self._answered = (address,)
            return reply
        raise Disconnected("; ".join(reasons))

    # -- metadata ----------------------------------------------------------------------------------------------------

    async def metadata(self, topics: Sequence[str] | None = None, *, may_create: bool = False) -> ClusterMetadata:
        """The metadata of these topics, or of all. `may_create` asks brokers for topics that are not there, if they
        make any by themselves.
        """
        wanted = None if topics is None else [MetadataRequestTopic(name=topic) for topic in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=may_create)
        seen = cluster_metadata(await self.ask_any(request, MetadataResponse))
        self._cache.remember(seen, self._now())
        return seen

    async def find_topic(self, name: str, seconds_max: float) -> TopicMetadata:
        """The topic as the cluster has it; asks again while a broker may not have heard of it yet."""

        async def ask() -> TopicMetadata:
            found = (await self.metadata([name])).topics[name]
            check(found.error_code, name)
            return found

        return await insist(ask, seconds_max, passes=lambda error: isinstance(error, Refused) and may_pass(error))

    async def topic(self, name: str) -> TopicMetadata:
        """The topic from memory, or asked for."""
        return self.known_topic(name) or await self.find_topic(name, NEWS_SECONDS_MAX)

    def known_topic(self, name: str) -> TopicMetadata | None:
        return self._cache.topic(name, self._now())

    def forget_topic(self, name: str) -> None:
        self._cache.forget_topic(name)

    def known_leader(self, id: TopicPartition) -> Leader | None:
        return self._cache.leader(id)

    def forget_leaders(self, ids: Iterable[TopicPartition]) -> None:
        """Forgets leaders that have moved or do not answer: the next question looks for them again."""
        self._cache.forget_leaders(ids)

    async def leader(self, id: TopicPartition) -> Leader:
        known = self._cache.leader(id)
        if known is not None:
            return known
        async with self._looking:
            # Whoever looked before us may have found it.
            return self._cache.leader(id) or await self._find_leader(id)

    async def _find_leader(self, id: TopicPartition) -> Leader:
        topic = (await self.metadata([id.topic])).topics.get(id.topic)
        if topic is None or topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise NoSuchPartition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{id.topic}: there is no such topic")
        check(topic.error_code, id.topic)
        if id.partition not in topic.partitions:
            raise NoSuchPartition(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{id}: the topic has {len(topic.partitions)} partitions"
            )
        leader = self._cache.leader(id)
        if leader is None:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, f"{id}: no replica leads at the moment")
        return leader

    # -- brokers and coordinators ------------------------------------------------------------------------------------

    def remember_brokers(self, brokers: Mapping[int, Address]) -> None:
        self._cache.brokers = dict(brokers)

    def is_known(self, broker_id: int) -> bool:
        return broker_id in self._cache.brokers

    async def ask_broker(self, broker_id: int, request: Request, response: type[R]) -> R:
        address = self._cache.brokers.get(broker_id)
        if address is None:
            raise Disconnected(f"broker {broker_id} is not alive")
        try:
            return await self._peers.ask(address, request, response)
        except Disconnected:
            # It may come back elsewhere, so whoever asks for it next looks again.
            self._cache.brokers.pop(broker_id, None)
            raise

    async def ask_coordinator(
        self,
        kind: int,
        key: str,
        request: Request,
        response: type[R],
        check: Callable[[R], None],
        *,
        version_max: int,
        seconds_max: float,
    ) -> R:
        """`check` raises Refused for a code in the answer; it may be asked again, so the request must bear that."""

        async def ask() -> R:
            address = await self._coordinator(kind, key)
            answer = await self._peers.ask(address, request, response, CLUSTER_REQUEST_SECONDS_MAX, version_max)
            check(answer)
            return answer

        return await insist(ask, seconds_max, forget=partial(self._coordinators.pop, (kind, key), None))

    async def _coordinator(self, kind: int, key: str) -> Address:
        if (kind, key) not in self._coordinators:
            reply = await self.ask_any(FindCoordinatorRequest(key, kind, [key]), FindCoordinatorResponse)
            answer: Any = reply.coordinators[0] if reply.coordinators else reply
            check(answer.error_code, key, answer.error_message)
            self._coordinators[kind, key] = (answer.host, answer.port)
        return self._coordinators[kind, key]

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


def check(code: int, about: str, sentence: str | None = None) -> None:
    """Raises the refusal that a reply carries."""
    if code:
        known = CODES[code].message if code in CODES else f"error {code}"
        raise Refused(code, f"{about}: {sentence or known}")
