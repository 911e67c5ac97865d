"""Questions that only the coordinator of a group or a transaction answers: asked again when it has moved or still loads."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from headrace.admin.admin import Admin
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.client.kafka_cluster import GROUP
from headrace.client.retry import insist
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest, FindCoordinatorResponse

MOVED_COORDINATOR_SECONDS_MAX = 5.0
COME_AGAIN = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)

T = TypeVar("T")


async def coordinator_of(admin: Admin, key: str, kind: int = GROUP) -> int:
    answer = await admin.ask(FindCoordinatorRequest(key, kind, [key]), FindCoordinatorResponse)
    found = answer.coordinators[0] if answer.coordinators else answer
    if found.error_code:
        raise Refused(found.error_code, found.error_message or "")
    return found.node_id


async def at_coordinator(admin: Admin, key: str, ask: Callable[[int], Awaitable[T]], kind: int = GROUP) -> T:
    """`ask` gets the broker's number and may be called again, so what it asks for must bear that."""

    async def attempt() -> T:
        try:
            return await ask(await coordinator_of(admin, key, kind))
        except Refused as refusal:
            if refusal.code not in COME_AGAIN:
                raise
        except Disconnected:
            # It died: another takes over, unless nobody answers at all.
            await admin.describe_cluster()
        about = f"group {key}" if kind == GROUP else key
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no broker coordinates {about} at the moment")

    return await insist(attempt, MOVED_COORDINATOR_SECONDS_MAX, passes=is_moving)


def is_moving(error: Refused | Disconnected) -> bool:
    return isinstance(error, Refused) and error.code in COME_AGAIN
