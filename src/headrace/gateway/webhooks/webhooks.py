"""The webhooks of a gateway: the subscriptions, and a courier for each that is active.

Level-triggered: whatever the registry says is compared with what runs, so a gateway that starts, misses a change or
takes over needs no special case. What handlers and the UI call is here too.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from headrace.admin.lag import committed_by, lag_of
from headrace.admin.positions import list_offsets
from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.base.outage import Outage
from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.gateway.gateway import Gateway
from headrace.gateway.problem import EXPECTED, Problem
from headrace.gateway.webhooks.courier import Courier
from headrace.gateway.webhooks.leftovers import Leftovers
from headrace.gateway.webhooks.registry import Registry
from headrace.gateway.webhooks.sealed_secrets import secret_keys
from headrace.gateway.webhooks.signature import new_secret
from headrace.gateway.webhooks.source import dead_letters_of, topic_of
from headrace.gateway.webhooks.subscribe import Wanted, check_url, ensure_dead_letters, fix_start, require_topic
from headrace.gateway.webhooks.subscription import Change, Offsets, State, Subscription, holder_of, own_group
from headrace.gateway.webhooks.tally import Tally
from headrace.gateway.webhooks.target import parse_networks

logger = logging.getLogger("headrace.gateway.webhooks")

REDRIVE_CHECK_SECONDS = 5.0
TIDY_SECONDS = 5.0


class Work(NamedTuple):
    """The work of a courier: a subscription's topic, or its dead letters once more."""

    id: str
    redrive: bool


class Webhooks:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        try:
            self._networks = parse_networks(gateway.settings.webhook_networks)
        except ValueError as error:
            raise UserError(f"webhook_networks: {error}", "write networks as 10.0.0.0/8,192.168.1.0/24") from None
        self._registry = Registry(gateway, self._on_change, keys=secret_keys(gateway.settings.webhook_keys))
        self._leftovers = Leftovers()
        self._subscribing: dict[str, Subscription] = {}
        self._changed = asyncio.Event()
        self._couriers: dict[Work, Courier] = {}
        self._tallies: dict[str, Tally] = {}
        self._redriven: dict[str, Offsets] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        work = (self._registry.run(), self._run_couriers(), self._run_tidying())
        self._tasks = [asyncio.create_task(each) for each in work]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(courier.stop() for courier in self._couriers.values()))
        self._couriers = {}

    async def until_loaded(self) -> None:
        await self._registry.until_loaded()

    def _on_change(self, id: str, before: Subscription | None, after: Subscription | None) -> None:
        self._leftovers.note(id, before, after)
        self._changed.set()

    # -- what is there -----------------------------------------------------------------------------------------------

    def all(self) -> list[Subscription]:
        return sorted(self._registry.subscriptions.values(), key=lambda each: (each.created_ms, each.id))

    def get(self, id: str) -> Subscription:
        found = self._registry.subscriptions.get(id)
        if found is None:
            raise Problem(404, "Unknown webhook", f"there is no webhook {id}", "GET /api/v1/webhooks lists them")
        return found

    @property
    def tallies(self) -> Mapping[str, Tally]:
        """Tallies of existing webhooks, by id."""
        return {each.id: self._tally(each.id) for each in self.all()}

    def _tally(self, id: str) -> Tally:
        return self._tallies.setdefault(id, Tally())

    def view(self, subscription: Subscription) -> dict[str, Any]:
        """The subscription, and what this gateway does for it; others may have the other partitions."""
        topic, redrive = (self._couriers.get(Work(subscription.id, redrive)) for redrive in (False, True))
        return {
            **subscription.view(),
            "here": topic.status() if topic else None,
            "redrive": redrive.status() if redrive else None,
        }

    async def lag(self, subscription: Subscription) -> int:
        """Messages not delivered yet, by all gateways together."""
        return sum(each.lag or 0 for each in await lag_of(self._gateway.admin, subscription.group))

    # -- what should change --------------------------------------------------------------------------------------------

    async def subscribe(self, wanted: Wanted) -> Subscription:
        """The only time that its secret is shown."""
        subscription = self._subscription(wanted)
        with self._reserved(subscription):
            await check_url(wanted.callback_url, self._networks)
            partitions = await require_topic(self._gateway, wanted.topic)
            await ensure_dead_letters(self._gateway, subscription.dead_letter_topic, len(partitions))
            await fix_start(self._gateway, subscription.group, partitions, wanted.start)
            await self._registry.put(subscription)
        holder = holder_of(subscription, self._registry.subscriptions.values())
        if holder is not None:
            # Another gateway was asked for the same group at the same time, and wrote first.
            await self._registry.delete(subscription.id)
            raise _group_in_use(holder)
        return subscription

    @contextlib.contextmanager
    def _reserved(self, subscription: Subscription) -> Iterator[None]:
        """Reserves a subscription's place and groups, from the check that they are free until the log has the answer."""
        self._require_room(subscription)
        self._subscribing[subscription.id] = subscription
        try:
            yield
        finally:
            del self._subscribing[subscription.id]

    def _subscription(self, wanted: Wanted) -> Subscription:
        id = f"wh-{secrets.token_hex(8)}"
        return Subscription(
            id=id,
            topic=wanted.topic,
            group=wanted.group or own_group(id),
            callback_url=wanted.callback_url,
            secret=wanted.secret or new_secret(),
            dead_letter_topic=wanted.dead_letter_topic or f"{wanted.topic}.dead-letters",
            messages_max=wanted.messages_max,
            timeout_ms=wanted.timeout_ms,
            retry=wanted.retry,
            state="active",
            created_ms=int(time.time() * 1000),
            redrive_until={},
        )

    def _require_room(self, wanted: Subscription) -> None:
        existing = {**self._subscribing, **self._registry.subscriptions}
        if len(existing) >= self._gateway.settings.webhooks_max:
            fix = "delete some, or raise webhooks_max of the gateway"
            raise Problem(409, "Too many webhooks", f"there are {len(existing)} webhooks already", fix)
        holder = holder_of(wanted, existing.values())
        if holder is not None:
            raise _group_in_use(holder)

    async def set_state(self, id: str, state: State) -> Subscription:
        return await self._change(self.get(id), "state", state)

    async def redrive(self, id: str) -> Subscription:
        """All dead letters there are now and that were not redriven before are delivered again."""
        subscription = self.get(id)
        partitions = await require_topic(self._gateway, subscription.dead_letter_topic)
        ends = await self._gateway.client.offsets(dict.fromkeys(partitions, LATEST))
        until = {each.partition: end.offset for each, end in ends.items()}
        return await self._change(subscription, "redrive_until", until)

    async def _change(self, subscription: Subscription, name: Change, value: State | Offsets) -> Subscription:
        """Changes the subscription; returns it as it is afterwards, since others may have changed it too, or deleted it."""
        await self._registry.change(subscription.id, name, value)
        return self.get(subscription.id)

    async def delete(self, id: str) -> None:
        await self._registry.delete(self.get(id).id)
        self._tallies.pop(id, None)

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
        for subscription in list(self._registry.subscriptions.values()):
            if not subscription.is_active:
                continue
            wanted[Work(subscription.id, False)] = replace(subscription, redrive_until={}, redriven={})
            if await self._has_redrive(subscription):
                wanted[Work(subscription.id, True)] = subscription
        return wanted

    async def _has_redrive(self, subscription: Subscription) -> bool:
        left = subscription.redrive_left
        done = {**subscription.redriven, **left}
        if not left or self._redriven.get(subscription.id) == done:
            return False
        ids = {TopicPartition(subscription.dead_letter_topic, partition): end for partition, end in left.items()}
        commits = await committed_by(self._gateway.admin, subscription.redrive_group)
        starts = await list_offsets(self._gateway.admin, dict.fromkeys(ids, EARLIEST))
        reached = {id: max(commits[id].offset if id in commits else 0, starts.get(id, 0)) for id in ids}
        if any(reached[id] < end for id, end in ids.items()):
            return True
        self._redriven[subscription.id] = done
        return False

    async def _reconcile(self, wanted: Mapping[Work, Subscription]) -> None:
        stale = [work for work, each in self._couriers.items() if wanted.get(work) != each.subscription]
        await asyncio.gather(*(self._couriers.pop(work).stop() for work in stale))
        for work, subscription in wanted.items():
            if work not in self._couriers:
                source = dead_letters_of(subscription) if work.redrive else topic_of(subscription)
                courier = self._couriers[work] = Courier(self._gateway, subscription, source, self._tally(work.id))
                courier.start()

    # -- what is over ------------------------------------------------------------------------------------------------

    async def _run_tidying(self) -> None:
        outage = Outage()
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            await self._attempt(self._tidy(), outage)

    async def _tidy(self) -> None:
        await self._registry.until_loaded()
        await self._note_redriven()
        await self._leftovers.sweep(self._gateway.admin)

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
            known = self._registry.subscriptions.get(id)
            if known is not None and known.redrive_left:
                await self._registry.change(id, "redriven", until)
                await self._write_furthest(id, until)
            del self._redriven[id]

    async def _write_furthest(self, id: str, written: Offsets) -> None:
        """Compaction keeps the last record only: if another gateway's said more than ours behind it, it is said again."""
        known = self._registry.subscriptions.get(id)
        if known is not None and known.redriven != written:
            await self._registry.change(id, "redriven", known.redriven)


def _group_in_use(holder: Subscription) -> Problem:
    fix = "choose another group: two receivers in one group would each get a part of the messages"
    return Problem(409, "Group in use", f"webhook {holder.id} reads as group {holder.group}", fix)
