"""FindCoordinator: which broker keeps a group, or a transactional id."""

from typing import TYPE_CHECKING

from headrace.base.errors import Refused
from headrace.broker.net.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import Coordinator, FindCoordinatorResponse

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

MANY_KEYS_SINCE = 4


async def handle_find_coordinator(broker: "Broker", request: Request) -> FindCoordinatorResponse:
    body = request.body
    if request.version >= MANY_KEYS_SINCE:
        return FindCoordinatorResponse(
            coordinators=[await _find(broker, body.key_type, key) for key in body.coordinator_keys]
        )
    found = await _find(broker, body.key_type, body.key)
    return FindCoordinatorResponse(0, found.error_code, found.error_message, found.node_id, found.host, found.port)


async def _find(broker: "Broker", key_type: int, key: str) -> Coordinator:
    try:
        match key_type:
            case 0:
                home = await broker.coordinators.find(key)
            case 1:
                home = await broker.transactions.find(key)
            case _:
                raise Refused(ErrorCode.INVALID_REQUEST, f"there are no coordinators of type {key_type}")
    except Refused as refusal:
        return Coordinator(key, -1, "", -1, refusal.code, refusal.message)
    return Coordinator(key, home.broker.id, home.broker.host, home.broker.port)
