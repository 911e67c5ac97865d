"""The throttle of a move: set on the brokers and topics it concerns, lifted when nothing of them moves any more.

As Kafka's own tool does it, so that either can lift what the other has set: a rate on brokers, and on topics the list of
replicas that it holds for.
"""

from collections.abc import Collection

from headrace.admin.admin import BROKER, TOPIC, Admin, Resource
from headrace.admin.moves import Plan
from headrace.admin.survey import Survey
from headrace.base.units import parse_byte_rate
from headrace.cli.failure import ExitCode, Failure

RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
FOLLOWERS = "follower.replication.throttled.replicas"
LEADERS = "leader.replication.throttled.replicas"


def parse_rate(text: str | None) -> int | None:
    """Bytes a second: 1048576, 50MB, 1.5 GB/s."""
    if text is None:
        return None
    try:
        rate = int(parse_byte_rate(text))
    except ValueError:
        rate = 0
    if rate <= 0:
        raise Failure(
            f"--throttle {text}: this is no rate", "write bytes a second, for example --throttle 50MB", ExitCode.USAGE
        )
    return rate


async def set_throttle(admin: Admin, plan: Plan, seen: Survey, rate: int) -> None:
    changes: dict[Resource, dict[str, str | None]] = {}
    followers: dict[str, list[str]] = {}
    leaders: dict[str, list[str]] = {}
    for id, replicas in plan.items():
        before = seen.partitions[id].replicas
        followers.setdefault(id.topic, []).extend(f"{id.partition}:{each}" for each in replicas if each not in before)
        leaders.setdefault(id.topic, []).extend(f"{id.partition}:{each}" for each in before)
    for topic, listed in followers.items():
        if listed:
            changes[Resource(TOPIC, topic)] = {FOLLOWERS: ",".join(listed), LEADERS: ",".join(leaders[topic])}
    for broker in seen.live:
        changes[Resource(BROKER, str(broker.id))] = dict.fromkeys(RATES, str(rate))
    await admin.alter_configs(changes)


async def lift_throttle(admin: Admin, topics: Collection[str]) -> bool:
    """Removes the throttle of these topics, and of the brokers once no topic has one; returns whether there was one."""
    throttled = await throttled_topics(admin)
    changes: dict[Resource, dict[str, str | None]] = {
        Resource(TOPIC, topic): {FOLLOWERS: None, LEADERS: None} for topic in throttled.intersection(topics)
    }
    if not changes:
        return False
    if throttled.issubset(topics):
        for broker in (await admin.describe_cluster()).brokers:
            changes[Resource(BROKER, str(broker.broker_id))] = dict.fromkeys(RATES)
    await admin.alter_configs(changes)
    return True


async def throttled_topics(admin: Admin) -> set[str]:
    names = [topic.name for topic in (await admin.metadata()).topics if topic.name]
    found = await admin.topic_configs(names, [FOLLOWERS, LEADERS])
    return {topic for topic, configs in found.items() if any(configs.values())}
