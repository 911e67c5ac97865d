"""The part of the gateway that watches the cluster: every few seconds one look, recorded, and held against the rules.

What the UI asks: `history` for a line over time, `latest` for what is true now. Both name metrics as `/metrics` does; a
counter's value is its rate a second. Nothing here outlives the process: Prometheus is for that.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Mapping, Sequence

from headrace.base.errors import Refused
from headrace.base.probe import Histogram
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.monitor.alerts import Alert, Alerts
from headrace.gateway.monitor.counters import Counters
from headrace.gateway.monitor.history import History, Point, Series
from headrace.gateway.monitor.lags import GroupLags, Lags
from headrace.gateway.monitor.notify import Notifier
from headrace.gateway.monitor.page import Labels, labels_of
from headrace.gateway.monitor.requests import RequestCounts
from headrace.gateway.monitor.rules import Rule, adjusted
from headrace.gateway.monitor.scrape import Scraper
from headrace.gateway.monitor.sight import Sight, recorded

logger = logging.getLogger("headrace.monitor")

LAG_SECONDS_MAX = 30.0
LOOP_LAG_SECONDS = 0.25


class Monitor:
    scraper: Scraper
    notifier: Notifier
    group_lags: GroupLags

    def __init__(self, gateway: Gateway, is_watching: bool = True) -> None:
        """One that does not watch has a past without points, no alerts, and answers what it is asked now."""
        settings = gateway.settings
        self._gateway = gateway
        self.is_watching = is_watching
        self._interval = settings.scrape_seconds
        self.requests = RequestCounts()
        self.loop_lag = Histogram()
        self.alerts = Alerts(adjusted(settings.alert_rules))
        self.history_kept = History(settings.history_seconds, int(settings.history_seconds / self._interval) + 1)
        self._counters = Counters()
        self._tasks: list[asyncio.Task[None]] = []

    # -- for the UI --------------------------------------------------------------------------------------------------

    def history(self, metric: str, labels: Mapping[str, object], seconds: float) -> list[Point]:
        """`history("headrace_topic_bytes_in_total", {"topic": "orders"}, 600)`; `{}` is the whole cluster."""
        return self.history_kept.points(Series(metric, labels_of(labels)), time.time() - seconds)

    def latest(self, metric: str) -> Mapping[Labels, float]:
        """The last values of a metric by labels: `(("topic", "orders"),)`, `(("broker", "1"),)`, or `()`."""
        return self.history_kept.latest(metric)

    # -- as a part of the gateway ------------------------------------------------------------------------------------

    async def start(self) -> None:
        settings = self._gateway.settings
        self.group_lags = GroupLags(self._gateway.admin)
        if not self.is_watching:
            return
        self.scraper = Scraper(self._gateway.admin, settings.broker_metrics)
        self.notifier = Notifier(settings.alert_webhook)
        self.notifier.start()
        self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._run_loop_lag())]

    async def stop(self) -> None:
        if not self.is_watching:
            return
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self.notifier.stop()
        await self.scraper.close()

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:
                # One odd page must not end the watch over all the others.
                logger.exception("a look at the cluster failed")
            await asyncio.sleep(self._interval)

    async def look(self) -> Sequence[Alert]:
        """One round; the alerts that changed."""
        pages = await self.scraper.pages()
        lags = await self._lags()
        sight = Sight(time.time(), pages, self.scraper.known - pages.keys(), lags, self.scraper.is_answered)
        self.history_kept.record(sight.at, recorded(sight, self._counters))
        changed = [alert for rule in self.alerts.rules for alert in self._evaluate(rule, sight)]
        self.notifier.tell(changed)
        return changed

    def _evaluate(self, rule: Rule, sight: Sight) -> list[Alert]:
        measures = rule.measure(self.history_kept, sight.at, rule.window_seconds)
        return self.alerts.evaluate(rule, measures, sight.at, sight.is_gone)

    async def _lags(self) -> Lags:
        try:
            async with asyncio.timeout(LAG_SECONDS_MAX):
                return await self.group_lags.look()
        except (Disconnected, Refused, TimeoutError):
            return Lags()

    async def _run_loop_lag(self) -> None:
        while True:
            due = time.perf_counter() + LOOP_LAG_SECONDS
            await asyncio.sleep(LOOP_LAG_SECONDS)
            self.loop_lag.observe(max(0.0, time.perf_counter() - due))
