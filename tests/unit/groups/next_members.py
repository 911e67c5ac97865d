"""Members of a consumer group as tests write them: one heartbeat at a time, and what it brought."""

from desk import GROUP, topic_id

from headrace.groups.partitions import from_wire, to_wire
from headrace.wire.messages.groups_consumer import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest


def parts(*numbers, topic="t"):
    return frozenset((topic_id(topic), number) for number in numbers)


def heartbeat(desk, member_id, epoch, owned=None, version=1, **fields):
    """The answer. `owned` is a set of partitions, or None when it reports none."""
    if owned is not None:
        fields["topic_partitions"] = to_wire(owned)
    request = ConsumerGroupHeartbeatRequest(fields.pop("group_id", GROUP), member_id, epoch, **fields)
    return desk.answer(desk.ask(request, version))


def describe(desk, *names, version=1):
    return desk.answer(desk.ask(ConsumerGroupDescribeRequest(list(names) or [GROUP]), version)).groups


class Member:
    """Does what it is told at once, unless it is asked to wait."""

    def __init__(self, desk, member_id, topics=("t",), **fields):
        self.desk = desk
        self.member_id = member_id
        self.epoch = 0
        self.owned = frozenset()
        self.fields = {"subscribed_topic_names": list(topics), "rebalance_timeout_ms": 60_000} | fields

    def join(self):
        self.owned = frozenset()
        return self._take(heartbeat(self.desk, self.member_id, 0, self.owned, **self.fields))

    def beat(self, report=True, **fields):
        return self._take(heartbeat(self.desk, self.member_id, self.epoch, self.owned if report else None, **fields))

    def leave(self, epoch=-1):
        instance = self.fields.get("instance_id")
        return heartbeat(self.desk, self.member_id, epoch, instance_id=instance)

    def _take(self, answer):
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = from_wire(answer.assignment.topic_partitions)
        return answer


def join_all(desk, *names, **fields):
    members = [Member(desk, name, **fields) for name in names]
    for member in members:
        assert member.join().error_code == 0
    settle(desk, *members)
    return members


def settle(desk, *members):
    for _ in range(4):
        desk.pass_time(1)
        for member in members:
            assert member.beat().error_code == 0
