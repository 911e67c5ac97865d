"""The answer to ConsumerGroupDescribe about one group."""

from collections.abc import Iterable

from headrace.groups.consumer.epochs import assignor_of
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.partitions import Part, by_topic
from headrace.groups.settings import GroupSettings
from headrace.groups.topics import Topics
from headrace.wire.messages.groups_consumer import (
    DescribedAssignment,
    DescribedGroup,
    DescribedTopicPartitions,
    Member,
)

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def describe_consumer(group: ConsumerGroup, topics: Topics, settings: GroupSettings) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=assignor_of(group, settings),
        members=[_described_member(group, member_id, topics) for member_id in group.members],
    )


def _described_member(group: ConsumerGroup, member_id: str, topics: Topics) -> Member:
    member, current = group.members[member_id], group.current_of(member_id)
    return Member(
        member_id,
        member.instance_id,
        member.rack_id,
        current.epoch,
        member.client_id,
        member.client_host,
        list(member.topics),
        member.expression,
        _assignment(current.assigned, topics),
        _assignment(group.target_of(member_id), topics),
        CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(parts: Iterable[Part], topics: Topics) -> DescribedAssignment:
    """An assignment by topic name; partitions of topics that are gone have no name to be shown by."""
    return DescribedAssignment(
        [
            DescribedTopicPartitions(topic_id, topics.names[topic_id], numbers)
            for topic_id, numbers in by_topic(parts).items()
            if topic_id in topics.names
        ]
    )
