"""Answers of the cluster that all open pages share: each is asked for once, however many look, and kept for a moment.

A page that finds nothing new shows what was there; nothing is asked while nobody looks.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from headrace.admin.groups import GroupListed, list_groups
from headrace.admin.survey import Survey, survey
from headrace.gateway.gateway import Gateway
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.ui.jobs import Job, find_jobs
from headrace.gateway.ui.topic_view import TopicView, topics_of

AGE_SECONDS_MAX = 2.0
ANSWER_SECONDS_MAX = 15.0

T = TypeVar("T")


class Kept(Generic[T]):
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
        self.last = await asyncio.wait_for(self._ask(), ANSWER_SECONDS_MAX)
        self._at = time.monotonic()
        return self.last

    def forget(self) -> None:
        """Forgets the answer after a change: the next look asks again."""
        self._at = -float("inf")


class Watch:
    def __init__(self, gateway: Gateway, describe: Callable[[], Mapping[str, Any]]) -> None:
        """`describe` is for the OpenAPI description of what the gateway serves."""
        self.gateway = gateway
        self.describe = describe
        self.cluster: Kept[Survey] = Kept(lambda: survey(gateway.admin))
        self.groups: Kept[list[GroupListed]] = Kept(lambda: list_groups(gateway.admin))

        self.jobs: Kept[list[Job]] = Kept(self._find_jobs)

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
        return self.gateway.part(Monitor)
