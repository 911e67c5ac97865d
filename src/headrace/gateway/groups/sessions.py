"""All sessions of this gateway: so many at most, each under an id that cannot be guessed, none that nobody comes back to."""

import asyncio
import contextlib
import secrets
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaException

from headrace.gateway.gateway import Gateway
from headrace.gateway.groups.reader import GroupReader
from headrace.gateway.groups.session import ENDED_FIX, GroupSession
from headrace.gateway.problem import Problem
from headrace.gateway.segments import encode_name

SESSION_SWEEP_SECONDS = 0.5
# librdkafka fetches ahead, for every session; its defaults are meant for one consumer.
FETCH_AHEAD = {
    "queued.min.messages": 1000,
    "queued.max.messages.kbytes": 4096,
    "fetch.max.bytes": 4 << 20,
    "fetch.queue.backoff.ms": 50,
}


class Sessions:
    def __init__(self, gateway: Gateway, all: set[str] | None = None) -> None:
        """`all` are the ids of every caller's sessions, which have one bound."""
        self._gateway = gateway
        self._sessions: dict[str, GroupSession] = {}
        self._all: set[str] = set() if all is None else all
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._sweeping = asyncio.create_task(self._run_sweep())

    async def stop(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeping
        await self._end(list(self._sessions.values()))

    def open(self, group: str, topics: Sequence[str], idle_seconds: float, config: dict[str, Any]) -> GroupSession:
        """A topic that begins with ^ is an expression."""
        limit = self._gateway.settings.sessions_max
        if len(self._all) >= limit:
            raise Problem(
                429,
                "Too many sessions",
                f"this gateway has {limit} sessions (sessions_max)",
                "end those that are not needed with DELETE, or start another gateway",
                headers={"Retry-After": "5"},
            )
        config = {**self._gateway.kafka_config(), **FETCH_AHEAD, **config, "group.id": group}
        try:
            reader = GroupReader({**config, "enable.auto.commit": False})
            reader.subscribe(list(topics))
        except (KafkaException, ValueError) as error:
            said = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise Problem(
                422,
                "Invalid subscription",
                f"{', '.join(topics)}: {said}",
                "name topics, or a pattern such as orders-.*, and a plain group",
            ) from None
        session = GroupSession(secrets.token_urlsafe(16), group, list(topics), idle_seconds, reader)
        self._sessions[session.id] = session
        self._all.add(session.id)
        reader.start()
        return session

    @property
    def count(self) -> int:
        return len(self._sessions)

    def find(self, group: str, id: str) -> GroupSession:
        session = self._sessions.get(id)
        if session is None or session.group != group:
            raise Problem(
                404,
                "Unknown session",
                f"group {group} has no session {id} on this gateway: it was idle for too long, or the gateway restarted",
                f"{ENDED_FIX}: POST /api/v1/consumer-groups/{encode_name(group)}/sessions",
            )
        return session

    def of_group(self, group: str) -> list[GroupSession]:
        return [each for each in self._sessions.values() if each.group == group]

    async def close(self, session: GroupSession) -> None:
        await self._end([session])

    async def _end(self, sessions: Sequence[GroupSession]) -> None:
        for session in sessions:
            self._sessions.pop(session.id, None)
            self._all.discard(session.id)
        await asyncio.gather(*(session.reader.stop() for session in sessions))

    async def _run_sweep(self) -> None:
        while True:
            await asyncio.sleep(SESSION_SWEEP_SECONDS)
            await self._end([each for each in self._sessions.values() if each.is_forgotten])
