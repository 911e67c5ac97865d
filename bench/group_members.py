"""Members of a classic consumer group, a hundred of them in one process, each with a connection of its own.

They speak the protocol through our client's connections, the same bytes to both peers. What they are assigned they do not
read: this is about the group, and a hundred real consumers would take the CPU that the broker needs.
"""

import asyncio
from struct import pack

from headrace.client.connection import ClientConnection
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

ANSWER_SECONDS_MAX = 60.0
HEARTBEAT_SECONDS = 0.5
SESSION_MS = 30_000
_FIND, _JOIN, _SYNC, _HEARTBEAT, _LEAVE = 4, 7, 5, 4, 4


async def connect(host: str, port: int) -> ClientConnection:
    return await ClientConnection.open(host, port, "bench", 5.0)


async def find_coordinators(bootstrap: str, groups: list[str]) -> list[Coordinator]:
    """Of every group; asked again until all have one, for the internal topic may be in the making."""
    host, _, port = bootstrap.split(",")[0].partition(":")
    connection = await connect(host, int(port))
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=groups)
    try:
        while True:
            answer = await connection.ask(request, FindCoordinatorResponse, _FIND, ANSWER_SECONDS_MAX)
            if not any(found.error_code for found in answer.coordinators):
                return answer.coordinators
            await asyncio.sleep(0.1)
    finally:
        connection.close()


class Member:
    """Joins, heartbeats, joins again when the group wants it, and counts the generations in which it had its share."""

    def __init__(self, coordinator: Coordinator, group: str, partitions: int) -> None:
        self._coordinator = coordinator
        self._group = group
        self._partitions = partitions
        self._member_id = ""
        self.generation = -1
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._live())

    async def leave(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.generation = -1
        request = LeaveGroupRequest(self._group, members=[MemberIdentity(self._member_id)])
        await self._connection.ask(request, LeaveGroupResponse, _LEAVE, ANSWER_SECONDS_MAX)
        self._connection.close()
        self._member_id = ""

    async def _live(self) -> None:
        self._connection = await connect(self._coordinator.host, self._coordinator.port)
        while True:
            joined = await self._join()
            if joined is None or not await self._sync(joined):
                continue
            self.generation = joined.generation_id
            while True:
                await asyncio.sleep(HEARTBEAT_SECONDS)
                if not await self._is_wanted():
                    break
            self.generation = -1

    async def _join(self) -> JoinGroupResponse | None:
        subscription = JoinGroupRequestProtocol("range", pack(">hi", 0, 0))
        request = JoinGroupRequest(
            self._group, SESSION_MS, SESSION_MS, self._member_id, None, "consumer", [subscription]
        )
        answer = await self._connection.ask(request, JoinGroupResponse, _JOIN, ANSWER_SECONDS_MAX)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
        if answer.error_code:
            return None
        self._member_id = answer.member_id
        return answer

    async def _sync(self, joined: JoinGroupResponse) -> bool:
        request = SyncGroupRequest(
            self._group, joined.generation_id, self._member_id, None, "consumer", "range", self._shares(joined)
        )
        answer = await self._connection.ask(request, SyncGroupResponse, _SYNC, ANSWER_SECONDS_MAX)
        return not answer.error_code

    def _shares(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """The leader's work; what a share looks like is the clients' business, so its size is all that matters here."""
        if joined.leader != self._member_id:
            return []
        share = bytes(4 * self._partitions // len(joined.members))
        return [SyncGroupRequestAssignment(member.member_id, share) for member in joined.members]

    async def _is_wanted(self) -> bool:
        request = HeartbeatRequest(self._group, self.generation, self._member_id)
        answer = await self._connection.ask(request, HeartbeatResponse, _HEARTBEAT, ANSWER_SECONDS_MAX)
        return not answer.error_code
