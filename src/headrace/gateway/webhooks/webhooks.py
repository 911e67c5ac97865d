"""The webhooks that a caller has to do with: what handlers and the UI call.

Where callers log in each of them has an object of this. An owner, by the name that brokers know, sees and changes his own
webhooks; whoever may alter and describe the cluster those of others too, as far as he may describe their topics. Others are
told that there is none.
"""

import contextlib
import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.admin.lag import lag_of
from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import LATEST
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.problem import Problem
from headrace.gateway.rights import Right
from headrace.gateway.webhooks.deliveries import Deliveries
from headrace.gateway.webhooks.mandates import require_rights
from headrace.gateway.webhooks.reservations import Reservations, group_in_use
from headrace.gateway.webhooks.signature import new_secret
from headrace.gateway.webhooks.subscribe import Start, Wanted, check_url, ensure_dead_letters, fix_start, require_topic
from headrace.gateway.webhooks.subscription import Change, Offsets, State, Subscription, holder_of, own_group
from headrace.gateway.webhooks.target import Network, parse_networks
from headrace.wire.codes import ErrorCode


class Webhooks:
    """A part of the gateway of a caller, or of the process's own where nobody logs in."""

    def __init__(self, gateway: Gateway, deliveries: Deliveries, room: Reservations) -> None:
        self._gateway = gateway
        self._deliveries = deliveries
        self._registry = deliveries.registry
        self._room = room
        self._networks = webhook_networks(gateway)

    async def start(self) -> None:
        """Nothing: the deliveries are a part of their own."""

    async def stop(self) -> None:
        pass

    async def until_loaded(self) -> None:
        await self._registry.until_loaded()

    # -- what is there -----------------------------------------------------------------------------------------------

    async def all(self) -> list[Subscription]:
        found = await self._visible(self._registry.subscriptions.values())
        return sorted(found, key=lambda each: (each.created_ms, each.id))

    async def get(self, id: str) -> Subscription:
        found = self._registry.subscriptions.get(id)
        if found is None or not await self._visible([found]):
            raise Problem(404, "Unknown webhook", f"there is no webhook {id}", "GET /api/v1/webhooks lists them")
        return found

    async def _visible(self, subscriptions: Iterable[Subscription]) -> list[Subscription]:
        if not self._gateway.is_caller:
            return list(subscriptions)
        caller = await self._gateway.rights.principal()
        known = list(subscriptions)
        own = [each for each in known if each.owner == caller]
        others = [each for each in known if each.owner != caller]
        if others and await self._may_administer():
            hidden = await self._hidden({topic for each in others for topic in (each.topic, each.dead_letter_topic)})
            own += [each for each in others if not hidden & {each.topic, each.dead_letter_topic}]
        return own

    async def _may_administer(self) -> bool:
        rights = self._gateway.rights
        await rights.look()
        return rights.has(Right.ALTER) and rights.has(Right.DESCRIBE)

    async def _hidden(self, topics: set[str]) -> set[str]:
        """The topics among them that the caller may not know of."""
        found = (await self._gateway.client.metadata(sorted(topics))).topics
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return {topic for topic in topics if topic not in found or found[topic].error_code == denied}

    def view(self, subscription: Subscription) -> dict[str, Any]:
        """The subscription, and what this gateway does for it; others may have the other partitions."""
        topic, redrive = (self._deliveries.courier(subscription.id, redrive) for redrive in (False, True))
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
        owner = await self._gateway.rights.principal() if self._gateway.is_caller else ""
        subscription = _subscription(wanted, owner)
        if owner:
            _check_group(subscription.group)
        with self._room.reserved(subscription, owner):
            await check_url(wanted.callback_url, self._networks)
            partitions = await require_topic(self._gateway, wanted.topic)
            await ensure_dead_letters(self._gateway, subscription.dead_letter_topic, len(partitions))
            subscription = await self._mandated(subscription)
            await self._put(subscription, partitions, wanted.start)
        holder = holder_of(subscription, self._registry.subscriptions.values())
        if holder is not None:
            # Another gateway was asked for the same group at the same time, and wrote first.
            await self._registry.delete(subscription.id)
            raise group_in_use(holder, is_told=not owner or holder.owner == owner)
        return subscription

    async def _put(self, subscription: Subscription, partitions: Sequence[TopicPartition], start: Start) -> None:
        try:
            await fix_start(self._gateway, subscription.group, partitions, start)
            await self._registry.put(subscription)
        except BaseException:
            await self._end_mandate(subscription)
            raise

    async def _mandated(self, subscription: Subscription) -> Subscription:
        """With a new mandate of the caller, where there are callers."""
        if not self._gateway.is_caller:
            return subscription
        await require_rights(self._gateway, subscription)
        mandate = await self._deliveries.mandates.make(self._gateway, subscription)
        return subscription.with_mandate(mandate)

    async def set_state(self, id: str, state: State) -> Subscription:
        subscription = await self.get(id)
        if state == "active" and self._gateway.is_caller:
            await self._renew_mandate(subscription)
        return await self._change(subscription, "state", state)

    async def _renew_mandate(self, subscription: Subscription) -> None:
        """Gives it a new token, if its owner resumes it, or anybody one of nobody; nobody else can."""
        if subscription.owner in ("", await self._gateway.rights.principal()):
            mandated = await self._mandated(subscription)
            assert mandated.mandate is not None, "there is a caller"
            await self._registry.give_mandate(subscription, mandated.mandate)
        elif subscription.state in ("ended", "denied"):
            raise Problem(
                403,
                "Not its owner",
                f"webhook {subscription.id} acts for {subscription.owner}, who alone can give it a new token",
                "ask its owner to resume it, or delete it",
            )

    async def redrive(self, id: str) -> Subscription:
        """All dead letters there are now and that were not redriven before are delivered again."""
        subscription = await self.get(id)
        partitions = await require_topic(self._gateway, subscription.dead_letter_topic)
        ends = await self._gateway.client.offsets(dict.fromkeys(partitions, LATEST))
        until = {each.partition: end.offset for each, end in ends.items()}
        return await self._change(subscription, "redrive_until", until)

    async def _change(self, subscription: Subscription, name: Change, value: State | Offsets) -> Subscription:
        """Changes the subscription; returns it as it is afterwards, since others may have changed it too, or deleted it."""
        await self._registry.change(subscription.id, name, value)
        return await self.get(subscription.id)

    async def delete(self, id: str) -> None:
        subscription = await self.get(id)
        await self._registry.delete(subscription.id)
        # At once; if that fails, it is tried again with what else is left over.
        await self._end_mandate(subscription)

    async def _end_mandate(self, subscription: Subscription) -> None:
        if subscription.mandate is not None:
            with contextlib.suppress(Refused, Disconnected):
                await self._deliveries.mandates.end(subscription.mandate)


def webhook_networks(gateway: Gateway) -> Sequence[Network]:
    try:
        return parse_networks(gateway.settings.webhook_networks)
    except ValueError as error:
        raise UserError(f"webhook_networks: {error}", "write networks as 10.0.0.0/8,192.168.1.0/24") from None


def _check_group(group: str) -> None:
    """In a grant a name that ends with a star stands for all that begin so."""
    if group.endswith("*"):
        raise Problem(422, "Invalid group", f"group {group} ends with a star", "choose another name")


def _subscription(wanted: Wanted, owner: str) -> Subscription:
    id = f"wh-{secrets.token_hex(8)}"
    return Subscription(
        id=id,
        topic=wanted.topic,
        group=wanted.group or own_group(id, owner),
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
