"""FindCoordinator: which broker keeps a group, or a transactional id."""

from headrace.base.errors import Refused
from headrace.broker.coordinators.groups import GroupCoordinators
from headrace.broker.coordinators.transactions import TransactionCoordinators
from headrace.broker.net.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import Coordinator, FindCoordinatorResponse

MANY_KEYS_SINCE = 4


async def handle_find_coordinator(
    groups: GroupCoordinators, transactions: TransactionCoordinators, request: Request
) -> FindCoordinatorResponse:
    body = request.body
    if request.version >= MANY_KEYS_SINCE:
        return FindCoordinatorResponse(
            coordinators=[
                await _find(groups, transactions, request.listener, body.key_type, key) for key in body.coordinator_keys
            ]
        )
    found = await _find(groups, transactions, request.listener, body.key_type, body.key)
    return FindCoordinatorResponse(0, found.error_code, found.error_message, found.node_id, found.host, found.port)


async def _find(
    groups: GroupCoordinators, transactions: TransactionCoordinators, listener: str, key_type: int, key: str
) -> Coordinator:
    try:
        match key_type:
            case 0:
                home = await groups.homes.find(key)
            case 1:
                home = await transactions.homes.find(key)
            case _:
                raise Refused(ErrorCode.INVALID_REQUEST, f"there are no coordinators of type {key_type}")
        endpoint = home.broker.endpoint(listener)
        if endpoint is None:
            why = f"broker {home.broker.id}, which coordinates it, has no listener {listener}"
            raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, why)
    except Refused as refusal:
        return Coordinator(key, -1, "", -1, refusal.code, refusal.message)
    return Coordinator(key, home.broker.id, endpoint.host, endpoint.port)
