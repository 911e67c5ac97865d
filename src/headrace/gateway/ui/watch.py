"""Answers of the cluster that all open pages share: each is asked for once, however many look, and kept for a moment.

A page that finds nothing new shows what was there; nothing is asked while nobody looks.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from headrace.admin.admin import Admin
from headrace.admin.groups import GroupListed, list_groups
from headrace.admin.survey import Survey, survey
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.rights import Right, is_allowed
from headrace.gateway.ui.jobs import Job, find_jobs
from headrace.gateway.ui.topic_view import TopicView, topics_of

AGE_SECONDS_MAX = 2.0
WATCH_SECONDS_MAX = 15.0

T = TypeVar("T")
Describe = Callable[[], Mapping[str, Any]]


class LatestAnswer(Generic[T]):
    """One answer at a time; who asks while the question is on its way gets the same answer."""

    def __init__(self, ask: Callable[[], Awaitable[T]]) -> None:
        self._ask = ask
        self._asked: asyncio.Task[T] | None = None
        self._at = -float("inf")
        self.last: T | None = None

    async def get(self, age_seconds_max: float = AGE_SECONDS_MAX) -> T:
        if self.last is not None and time.monotonic() - self._at < age_seconds_max:
            return self.last
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._fetch())
        return await asyncio.shield(self._asked)

    async def _fetch(self) -> T:
        self.last = await asyncio.wait_for(self._ask(), WATCH_SECONDS_MAX)
        self._at = time.monotonic()
        return self.last

    def forget(self) -> None:
        """Forgets the answer after a change: the next look asks again."""
        self._at = -float("inf")


class Watch:
    def __init__(self, gateway: Gateway, describe: Describe) -> None:
        """`describe` is for the OpenAPI description of what the gateway serves."""
        self.gateway = gateway
        self.describe = describe
        self.cluster: LatestAnswer[Survey] = LatestAnswer(self._survey)
        self.groups: LatestAnswer[list[GroupListed]] = LatestAnswer(lambda: list_groups(gateway.admin))

        self.jobs: LatestAnswer[list[Job]] = LatestAnswer(self._find_jobs)

    async def start(self) -> None:
        """Nothing: what is looked at is asked for when somebody looks. A caller's gateway has one as a part."""

    async def stop(self) -> None:
        pass

    async def _survey(self) -> Survey:
        """Every open page asks for it now and again, so what they may see of the whole is looked at with it."""
        await self.look_at_rights()
        return await survey(self.gateway.admin, only_allowed=self.gateway.is_caller)

    async def _find_jobs(self) -> list[Job]:
        return await find_jobs(self.monitor.group_lags, await self.groups.get())

    async def topics(self, wanted: str = "") -> dict[str, TopicView]:
        """Topics by name, which may be seconds old: with a `wanted` topic that is not among them, the cluster is asked
        again.
        """
        known = topics_of(await self.cluster.get())
        return known if not wanted or wanted in known else topics_of(await self.cluster.get(0))

    @property
    def monitor(self) -> Monitor:
        """The one of the whole cluster, for who may know the whole; else one without a past."""
        sees_whole = not self.gateway.is_caller or self.gateway.rights.has(Right.DESCRIBE)
        return (self.gateway.home if sees_whole else self.gateway).part(Monitor)

    def may(self, operation: Right) -> bool:
        """Whether this is to be offered on the cluster, as it was known when the page was opened."""
        return not self.gateway.is_caller or self.gateway.rights.may(operation)

    async def allowed(self, ask: Callable[[Admin], Awaitable[int]]) -> Callable[[Right], bool]:
        """Whether an operation on one topic or group is to be offered; none is, where this cannot be known."""
        if not self.gateway.is_caller:
            return lambda _: True
        operations = 0
        with contextlib.suppress(Refused, Disconnected, TimeoutError):
            operations = await asyncio.wait_for(ask(self.gateway.admin), WATCH_SECONDS_MAX)
        return lambda operation: is_allowed(operations, operation)

    async def look_at_rights(self) -> None:
        if self.gateway.is_caller:
            await self.gateway.rights.look()
