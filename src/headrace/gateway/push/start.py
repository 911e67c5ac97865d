"""The start of a listener: after the event that it names, or at either end of the topic's partitions."""

from collections.abc import Sequence
from typing import Literal

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient
from headrace.gateway.known_topics import check_readable
from headrace.gateway.problem import Problem, kafka_problem
from headrace.gateway.push.positions import PARTITIONS_MAX, Positions, parse_positions
from headrace.wire.codes import CODES, ErrorCode

Start = Literal["latest", "earliest"]


def parse_id(text: str) -> dict[int, int]:
    try:
        return parse_positions(text)
    except ValueError as error:
        fix = "send the id of the last event you have seen, unchanged, or leave it away"
        raise Problem(422, "Invalid event id", str(error), fix) from None


async def starting_positions(
    client: ClusterClient, topic: str, partitions: Sequence[int], start: Start, after: str
) -> Positions:
    """In the order of partitions, so that all who are at the same place have the same positions."""
    seen = parse_id(after) if after else {}
    there = await readable_partitions(client, topic, partitions)
    wanted = [TopicPartition(topic, partition) for partition in partitions or there]
    check_not_too_many(topic, len(wanted))
    ends = await client.offsets(dict.fromkeys(wanted, EARLIEST if start == "earliest" and not seen else LATEST))
    for id, end in ends.items():
        if seen.get(id.partition, 0) > end.offset:
            detail = f"{id} ends at {end.offset}, before {seen[id.partition]}: is it a new topic of that name?"
            raise Problem(416, "Offset out of range", detail, "begin anew, without the id")
    # A partition that the id does not name is younger than the event: nothing of it has been seen.
    begin = {id.partition: seen.get(id.partition, 0) if seen else ends[id].offset for id in wanted}
    return dict(sorted(begin.items()))


async def readable_partitions(client: ClusterClient, topic: str, named: Sequence[int]) -> list[int]:
    """All of the topic; those that were named are among them."""
    check_readable(topic)
    found = (await client.metadata([topic])).topics[topic]
    if found.error_code:
        sentence = CODES[found.error_code].message if found.error_code in CODES else ""
        raise kafka_problem(found.error_code, f"topic {topic}: {sentence}")
    for partition in named:
        if partition not in found.partitions:
            detail = f"topic {topic} has no partition {partition}"
            raise kafka_problem(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, detail)
    return list(found.partitions)


def check_not_too_many(topic: str, count: int) -> None:
    """Refused now, rather than when it comes back with an id that no head of a request has room for."""
    if count > PARTITIONS_MAX:
        detail = f"{count} partitions of topic {topic}: the id of an event has room for {PARTITIONS_MAX}"
        fix = "listen to some of them with ?partition=N, or poll a session of a consumer group"
        raise Problem(422, "Too many partitions", detail, fix)
