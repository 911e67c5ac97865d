"""Alerts to a webhook: one POST for each that fires or is cleared, in order, tried again by the rule of `client.retry`.

The receiver may be down for a while: some alerts wait in line, and when the line is full the oldest is given up. Every
gateway sends what it sees; `id` is the same for the same alert, so that a receiver of several can tell.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from typing import Any

import httpx

from headrace.client.retry import pause_seconds
from headrace.gateway.monitor.alerts import Alert

logger = logging.getLogger("headrace.alerts")

WAITING_MAX = 1000
TRIES_MAX = 8
NOTIFY_FIRST_PAUSE_SECONDS = 0.5
NOTIFY_PAUSE_SECONDS_MAX = 60.0
NOTIFY_SECONDS_MAX = 10.0


class Notifier:
    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: deque[Alert] = deque(maxlen=WAITING_MAX)
        self._news = asyncio.Event()
        self._http = httpx.AsyncClient(timeout=NOTIFY_SECONDS_MAX, follow_redirects=False)
        self._task: asyncio.Task[None] | None = None
        self.failures = 0

    def start(self) -> None:
        if self._url:
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._http.aclose()

    def tell(self, alerts: Iterable[Alert]) -> None:
        if self._url:
            self._waiting.extend(alerts)
            self._news.set()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                await self._deliver(self._waiting.popleft())

    async def _deliver(self, alert: Alert) -> None:
        for tries in range(1, TRIES_MAX + 1):
            if await self._post(alert):
                return
            self.failures += 1
            await asyncio.sleep(
                pause_seconds(tries, first=NOTIFY_FIRST_PAUSE_SECONDS, longest=NOTIFY_PAUSE_SECONDS_MAX)
            )
        logger.error(
            "nobody took alert %(alert)s (%(state)s) at the webhook in %(tries)d tries",
            {"alert": alert.name, "state": alert.state, "tries": TRIES_MAX},
        )

    async def _post(self, alert: Alert) -> bool:
        try:
            reply = await self._http.post(self._url, json=alert_view(alert))
        except httpx.HTTPError as error:
            logger.warning("the alert webhook does not answer: %(cause)s", {"cause": error})
            return False
        if not reply.is_success:
            logger.warning("the alert webhook answers %(status)d", {"status": reply.status_code})
        return reply.is_success


def alert_view(alert: Alert) -> dict[str, Any]:
    labels = ",".join(f"{name}={value}" for name, value in sorted(alert.labels.items()))
    return {"id": sha256(f"{alert.name}{{{labels}}}".encode()).hexdigest()[:16], **asdict(alert)}
