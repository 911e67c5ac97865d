"""The work of a gateway for all webhooks: a courier for each that is active, and the end of what is over.

Level-triggered: whatever the registry says is compared with what runs, so a gateway that starts, misses a change or
takes over needs no special case.
"""

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import NamedTuple

from headrace.admin.lag import committed_by
from headrace.admin.positions import list_offsets
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.base.outage import Outage
from headrace.client.cluster_client import EARLIEST
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.problem import EXPECTED
from headrace.gateway.webhooks.actors import Actors
from headrace.gateway.webhooks.courier import Courier
from headrace.gateway.webhooks.leftovers import Leftovers
from headrace.gateway.webhooks.mandates import Mandates
from headrace.gateway.webhooks.registry import Registry
from headrace.gateway.webhooks.sealed_secrets import secret_keys
from headrace.gateway.webhooks.source import dead_letters_of, topic_of
from headrace.gateway.webhooks.subscription import Offsets, State, Subscription
from headrace.gateway.webhooks.tally import Tally

logger = logging.getLogger("headrace.gateway.webhooks")

REDRIVE_CHECK_SECONDS = 5.0
TIDY_SECONDS = 5.0


class Work(NamedTuple):
    """The work of a courier: a subscription's topic, or its dead letters once more."""

    id: str
    redrive: bool


class Deliveries:
    """A part of the process's own gateway."""

    def __init__(self, home: Gateway) -> None:
        self._home = home
        self.registry = Registry(home, self._on_change, keys=secret_keys(home.settings.webhook_keys))
        self._leftovers = Leftovers()
        self._actors = Actors(home)
        self.mandates = Mandates(home, self._actors, self._stop_because)
        self._changed = asyncio.Event()
        self._couriers: dict[Work, Courier] = {}
        self._tallies: dict[str, Tally] = {}
        self._redriven: dict[str, Offsets] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        work = (self.registry.run(), self._run_couriers(), self._run_tidying(), self._run_looks())
        self._tasks = [asyncio.create_task(each) for each in work]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(courier.stop() for courier in self._couriers.values()))
        self._couriers = {}
        await self._actors.keep_only(())

    def _on_change(self, id: str, before: Subscription | None, after: Subscription | None) -> None:
        self._leftovers.note(id, before, after)
        if after is None:
            self._tallies.pop(id, None)
        self._changed.set()

    def courier(self, id: str, redrive: bool) -> Courier | None:
        return self._couriers.get(Work(id, redrive))

    @property
    def tallies(self) -> Mapping[str, Tally]:
        """Tallies of existing webhooks, by id."""
        return {id: self.tally(id) for id in self.registry.subscriptions}

    def tally(self, id: str) -> Tally:
        return self._tallies.setdefault(id, Tally())

    # -- the couriers ------------------------------------------------------------------------------------------------

    async def _run_couriers(self) -> None:
        outage = Outage()
        while True:
            try:
                async with asyncio.timeout(REDRIVE_CHECK_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            await self._attempt(self._work(), outage)

    async def _work(self) -> None:
        await self._reconcile(await self._wanted_work())

    async def _wanted_work(self) -> dict[Work, Subscription]:
        wanted = {}
        # Others may come and go while we ask.
        for subscription in list(self.registry.subscriptions.values()):
            if not subscription.is_active or not self._actors.has(subscription):
                continue
            wanted[Work(subscription.id, False)] = replace(subscription, redrive_until={}, redriven={})
            if await self._is_redriven(subscription):
                wanted[Work(subscription.id, True)] = subscription
        return wanted

    async def _is_redriven(self, subscription: Subscription) -> bool:
        """One whose brokers do not answer is left as it is, and holds up no other."""
        try:
            return await self._has_redrive(subscription)
        except (Refused, Disconnected) as error:
            logger.info(
                "webhook %(webhook)s: its dead letters: %(cause)s", {"webhook": subscription.id, "cause": error}
            )
            return self.courier(subscription.id, redrive=True) is not None

    async def _has_redrive(self, subscription: Subscription) -> bool:
        left = subscription.redrive_left
        done = {**subscription.redriven, **left}
        if not left or self._redriven.get(subscription.id) == done:
            return False
        admin = (await self._actors.of(subscription)).admin
        ids = {TopicPartition(subscription.dead_letter_topic, partition): end for partition, end in left.items()}
        commits = await committed_by(admin, subscription.redrive_group)
        starts = await list_offsets(admin, dict.fromkeys(ids, EARLIEST))
        reached = {id: max(commits[id].offset if id in commits else 0, starts.get(id, 0)) for id in ids}
        if any(reached[id] < end for id, end in ids.items()):
            return True
        self._redriven[subscription.id] = done
        return False

    async def _reconcile(self, wanted: Mapping[Work, Subscription]) -> None:
        stale = [work for work, each in self._couriers.items() if wanted.get(work) != each.subscription]
        await asyncio.gather(*(self._couriers.pop(work).stop() for work in stale))
        await self._actors.keep_only({work.id for work in wanted})
        for work, subscription in wanted.items():
            if work not in self._couriers:
                source = dead_letters_of(subscription) if work.redrive else topic_of(subscription)
                actor = await self._actors.of(subscription)
                courier = self._couriers[work] = Courier(actor, subscription, source, self.tally(work.id))
                courier.start()

    # -- what is over ------------------------------------------------------------------------------------------------

    async def _run_tidying(self) -> None:
        outage = Outage()
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            await self._attempt(self._tidy(), outage)

    async def _tidy(self) -> None:
        await self.registry.until_loaded()
        await self.registry.seal_plain()
        await self._note_redriven()
        await self._leftovers.sweep(self._home.admin)

    async def _run_looks(self) -> None:
        outage = Outage()
        while self._home.trust is not None:
            await asyncio.sleep(self._home.settings.login_check_seconds)
            await self._attempt(self.mandates.look(self.registry.subscriptions.values()), outage)

    async def _stop_because(self, subscription: Subscription, verdict: State) -> None:
        now = self.registry.subscriptions.get(subscription.id)
        # Its owner may have resumed it, or somebody paused it, since it was looked at.
        if now is not None and now.is_active and now.mandate == subscription.mandate:
            await self.registry.change(subscription.id, "state", verdict)

    async def _attempt(self, round: Coroutine[None, None, None], outage: Outage) -> None:
        """One round of work that comes again: a failure is told, and left to the next round."""
        try:
            await round
            if outage.has_ended():
                logger.info("webhooks: the work goes on")
        except EXPECTED as error:
            if outage.is_news():
                logger.warning("webhooks: %(cause)s", {"cause": error})
        except Exception:
            if outage.is_news():
                logger.exception("webhooks: a fault of ours; trying again")

    async def _note_redriven(self) -> None:
        """Writes down how far a finished redrive came, since its group with the commits is to go. Every gateway writes
        the same.
        """
        for id, until in list(self._redriven.items()):
            known = self.registry.subscriptions.get(id)
            if known is not None and known.redrive_left:
                await self.registry.change(id, "redriven", until)
                await self._write_furthest(id, until)
            del self._redriven[id]

    async def _write_furthest(self, id: str, written: Offsets) -> None:
        """Compaction keeps the last record only: if another gateway's said more than ours behind it, it is said again."""
        known = self.registry.subscriptions.get(id)
        if known is not None and known.redriven != written:
            await self.registry.change(id, "redriven", known.redriven)
