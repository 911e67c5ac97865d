"""Checks before a subscription exists: that its URL, its topic, its dead letters and its start are right.

Where it begins is committed to its group first. From then on nothing that is stored can be missed, however late the
first gateway gets to read.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import httpcore

from headrace.admin.groups import NewCommit, commit
from headrace.admin.lag import committed_by
from headrace.admin.topics import create_topic
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.gateway.gateway import Gateway
from headrace.gateway.problem import Problem, kafka_problem
from headrace.gateway.webhooks.connect import resolve
from headrace.gateway.webhooks.retry import RetryPolicy
from headrace.gateway.webhooks.target import ForbiddenTarget, Network, check_addresses, parse_url
from headrace.wire.codes import ErrorCode

Start = Literal["latest", "earliest"]


class Wanted(NamedTuple):
    topic: str
    callback_url: str
    group: str = ""
    secret: str = ""
    dead_letter_topic: str = ""
    start: Start = "latest"
    messages_max: int = 100
    timeout_ms: int = 10_000
    retry: RetryPolicy = RetryPolicy()


async def check_url(url: str, allowed: Sequence[Network]) -> None:
    try:
        target = parse_url(url)
        check_addresses(target.host, await resolve(target.host, target.port), allowed)
    except ValueError as error:
        raise Problem(422, "Invalid callback URL", f"callback_url: {error}", "give a plain https:// URL") from None
    except httpcore.ConnectError as error:
        raise Problem(422, "Invalid callback URL", f"callback_url: {error}", "check the name of the host") from None
    except ForbiddenTarget as error:
        fix = "use a public address, or allow its network with the gateway's setting webhook_networks"
        raise Problem(403, "Forbidden callback URL", f"callback_url: {error}", fix) from None


async def require_topic(gateway: Gateway, topic: str) -> list[TopicPartition]:
    found = (await gateway.client.metadata([topic])).topics.get(topic)
    if found is None or found.error_code or not found.partitions:
        code = found.error_code if found else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise kafka_problem(code or ErrorCode.LEADER_NOT_AVAILABLE, f"topic {topic} cannot be read")
    return [TopicPartition(topic, index) for index in found.partitions]


async def ensure_dead_letters(gateway: Gateway, topic: str, partitions: int) -> None:
    found = (await gateway.client.metadata([topic])).topics.get(topic)
    if found is not None and not found.error_code:
        # Who may write to it need not be allowed to make it.
        return
    try:
        await create_topic(gateway.admin, topic, partitions)
    except Refused as refusal:
        if refusal.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise


async def fix_start(gateway: Gateway, group: str, partitions: Sequence[TopicPartition], start: Start) -> None:
    """A group that has been here before goes on where it was."""
    known = await committed_by(gateway.admin, group)
    fresh = [each for each in partitions if each not in known]
    if not fresh:
        return
    offsets = await gateway.client.offsets(dict.fromkeys(fresh, EARLIEST if start == "earliest" else LATEST))
    refused = await commit(gateway.admin, group, {id: NewCommit(at.offset) for id, at in offsets.items()})
    for id, refusal in refused.items():
        raise kafka_problem(refusal.code, f"group {group} cannot begin at {id}: {refusal.message}; has it members?")
