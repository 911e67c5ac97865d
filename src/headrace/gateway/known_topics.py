"""Topics that exist, so that a message for one that does not is refused at once.

librdkafka would keep such a message and hope for the topic. A topic that is not there is made here if the brokers make
topics by themselves (auto.create.topics.enable), as for any producer. The client remembers a topic for a while, or until
a delivery says that it is gone.
"""

from headrace.base import topic_names
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.client.kafka_cluster import KafkaCluster
from headrace.client.retry import insist
from headrace.gateway.problem import Problem, kafka_problem
from headrace.wire.codes import CODES, ErrorCode

CREATE_SECONDS_MAX = 10.0
SECRET = frozenset({"_headrace_webhooks"})


class KnownTopics:
    def __init__(self, client: KafkaCluster) -> None:
        self._client = client

    async def require(self, topic: str) -> None:
        """Returns when messages may be sent there, or raises the Problem."""
        check_name(topic)
        if topic_names.is_reserved(topic):
            raise Problem(403, "Reserved topic", f"{topic} is written by Headrace itself", "choose another topic name")
        if self._client.known_topic(topic) is None:
            await self._look(topic)

    def forget(self, topic: str) -> None:
        self._client.forget_topic(topic)

    async def _look(self, topic: str) -> None:
        async def ask() -> None:
            found = (await self._client.metadata([topic], may_create=True)).topics[topic]
            if found.error_code:
                raise Refused(found.error_code, _refusal(topic, found.error_code))

        try:
            await insist(ask, CREATE_SECONDS_MAX, passes=_is_being_made)
        except Refused as refusal:
            raise kafka_problem(refusal.code, refusal.message) from refusal


def _is_being_made(error: Refused | Disconnected) -> bool:
    """One that is being made has no leader yet."""
    return isinstance(error, Refused) and error.code == ErrorCode.LEADER_NOT_AVAILABLE


def check_name(topic: str) -> None:
    if topic_names.topic_name_problem(topic):
        raise kafka_problem(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic:.80} cannot be the name of a topic")


def check_readable(topic: str) -> None:
    check_name(topic)
    if topic in SECRET:
        raise Problem(
            403, "Reserved topic", f"{topic} holds secrets of webhooks", "GET /api/v1/webhooks shows the rest"
        )


def _refusal(topic: str, code: int) -> str:
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"there is no topic {topic}"
    return f"topic {topic}: {CODES[code].message if code in CODES else code}"
