"""Questions that only a group's coordinator answers: found, asked, and asked again when it has moved or is still loading."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from headrace.admin.admin import Admin
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest, FindCoordinatorResponse

TRIES_MAX = 20
PAUSE_SECONDS = 0.25
COME_AGAIN = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)

T = TypeVar("T")


async def coordinator_of(admin: Admin, group: str) -> int:
    answer = await admin.ask(FindCoordinatorRequest(group, 0, [group]), FindCoordinatorResponse)
    found = answer.coordinators[0] if answer.coordinators else answer
    if found.error_code:
        raise Refused(found.error_code, found.error_message or "")
    return found.node_id


async def at_coordinator(admin: Admin, group: str, ask: Callable[[int], Awaitable[T]]) -> T:
    """`ask` gets the broker's number and may be called again, so what it asks for must bear that."""
    for _ in range(TRIES_MAX):
        try:
            return await ask(await coordinator_of(admin, group))
        except Refused as refusal:
            if refusal.code not in COME_AGAIN:
                raise
        except Disconnected:
            # It died: another takes over, unless nobody answers at all.
            await admin.describe_cluster()
        await asyncio.sleep(PAUSE_SECONDS)
    raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no broker coordinates group {group} at the moment")
