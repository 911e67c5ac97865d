"""The checks of a ConsumerGroupHeartbeat: its form, and whether its sender is who it says. Raises Refused; changes
nothing."""

from headrace.base.errors import Refused
from headrace.groups.classic.join import NAME_LENGTH_MAX
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.records import LEFT_FOR_A_WHILE, Current
from headrace.groups.expression import BadExpression, compile_expression
from headrace.groups.partitions import from_wire
from headrace.groups.settings import GroupSettings
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_consumer import ConsumerGroupHeartbeatRequest

JOIN, LEAVE = 0, -1
MEMBER_CHOOSES_ID_SINCE = 1


def check_form(request: ConsumerGroupHeartbeatRequest, version: int, settings: GroupSettings) -> None:
    _require(bool(request.group_id), "the group id is empty")
    names = (request.group_id, request.member_id, request.instance_id, request.rack_id)
    _require(all(len(name or "") <= NAME_LENGTH_MAX for name in names), "a name is too long")
    _require(request.instance_id != "", "the instance id is empty")
    _require(request.rack_id != "", "the rack id is empty")
    _require(request.member_epoch >= LEFT_FOR_A_WHILE, f"there is no member epoch {request.member_epoch}")
    anonymous = request.member_epoch == JOIN and version < MEMBER_CHOOSES_ID_SINCE
    _require(bool(request.member_id) or anonymous, "the member id is empty")
    if request.member_epoch == LEFT_FOR_A_WHILE:
        _require(request.instance_id is not None, "only a static member leaves for a while")
    if request.member_epoch == JOIN:
        _check_join(request)
    _check_wishes(request, settings)


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    _require(request.rebalance_timeout_ms >= 0, "who joins names a rebalance time-out")
    _require(request.topic_partitions == [], "who joins owns no partitions")
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    _require(subscribes, "who joins subscribes to topics by name or by expression")


def _check_wishes(request: ConsumerGroupHeartbeatRequest, settings: GroupSettings) -> None:
    if request.server_assignor is not None and request.server_assignor not in settings.consumer_assignors:
        offered = ", ".join(settings.consumer_assignors)
        raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR, f"no assignor {request.server_assignor!r}; there are {offered}")
    _require(
        all(len(name) <= NAME_LENGTH_MAX for name in request.subscribed_topic_names or ()), "a topic name is too long"
    )
    if request.subscribed_topic_regex:
        try:
            compile_expression(request.subscribed_topic_regex)
        except BadExpression as error:
            raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, f"not an RE2 expression: {error}") from None


def _require(condition: bool, cause: str) -> None:
    if not condition:
        raise Refused(ErrorCode.INVALID_REQUEST, cause)


def check_sender(decision: Decision, request: ConsumerGroupHeartbeatRequest) -> None:
    group = decision.group
    if request.member_epoch == JOIN:
        _check_joining(group, request.member_id, request.instance_id, decision.settings)
        return
    check_known(group, request.member_id, request.instance_id)
    if request.member_epoch > JOIN:
        _check_epoch(group.current_of(request.member_id), request)


def _check_joining(group: ConsumerGroup, member_id: str, instance_id: str | None, settings: GroupSettings) -> None:
    owner = None if instance_id is None else group.member_id_of_instance.get(instance_id)
    if owner is not None and owner != member_id:
        is_free = group.current_of(owner).epoch == LEFT_FOR_A_WHILE or group.members[owner].classic is not None
        if not is_free:
            raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID, f"instance {instance_id} is still held by {owner}")
    elif member_id not in group.members and len(group.members) >= settings.consumer_max_size:
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED, f"the group has {len(group.members)} members")


def check_known(group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    if instance_id is not None:
        owner = group.member_id_of_instance.get(instance_id)
        if owner is not None and owner != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID, f"instance {instance_id} is held by {owner} now")
        if owner is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"instance {instance_id} is not in the group")
    if member_id not in group.members:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"member {member_id} is not in the group")


def _check_epoch(current: Current, request: ConsumerGroupHeartbeatRequest) -> None:
    """Refuses another epoch than the member was told last, or the one before if only our answer was lost."""
    epoch = request.member_epoch
    if epoch == current.epoch:
        return
    lost_answer = (
        epoch == current.previous_epoch
        and epoch < current.epoch
        and request.topic_partitions is not None
        and from_wire(request.topic_partitions) <= current.assigned.keys()
    )
    if not lost_answer:
        raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"the member's epoch is {current.epoch}, not {epoch}: join again")
