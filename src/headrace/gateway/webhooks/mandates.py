"""Mandates: the scoped tokens by which webhooks act where callers log in; made as their owner, kept alive by the gateway.

    subscribe, or resume ─▶ token of the owner, narrowed, with our own login as its renewer ─▶ looked at now and then
        still taken, and may what it must ─▶ prolonged, up to the cluster's longest life of a token
        not taken, twice in a row         ─▶ the webhook is `ended`
        taken, and may not                ─▶ the webhook is `denied`

Our own login can end and prolong these tokens, and make none. A token that a broker has not heard of yet is refused there
for a moment, so one refusal is none.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable

from headrace.admin.scoped import make_scoped_token
from headrace.admin.tokens import end_token, renew_token
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.problem import Problem
from headrace.gateway.rights import Right, group_operations, is_allowed, topic_operations
from headrace.gateway.webhooks.actors import Actors
from headrace.gateway.webhooks.subscription import Mandate, State, Subscription
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.gateway.webhooks")

LOOKS_AT_ONCE = 8
REFUSALS_MIN = 2
_NO_TOKENS = (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
_ENDED = (ErrorCode.SASL_AUTHENTICATION_FAILED,)
_DENIED = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
)

OnVerdict = Callable[[Subscription, State], Awaitable[None]]


def grants_of(subscription: Subscription) -> list[str]:
    """The rights that a webhook needs, and no more."""
    topic, dead = subscription.topic, subscription.dead_letter_topic
    grants = [f"read topic {topic}", f"read topic {dead}", f"write topic {dead}"]
    return [*grants, *(f"read group {group}" for group in subscription.groups)]


async def require_rights(caller: Gateway, subscription: Subscription) -> None:
    """Refused as by a broker if the caller has less than a webhook needs."""
    if await _lacks(caller, subscription):
        raise Refused(
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            f"a webhook has to read {subscription.topic} as group {subscription.group}, and to write its dead letters to "
            f"{subscription.dead_letter_topic}",
        )


async def _lacks(gateway: Gateway, subscription: Subscription) -> bool:
    """Whether a right is missing. Raises what brokers answer who is not to know of the topic or the group."""
    needed = {subscription.topic: [Right.READ], subscription.dead_letter_topic: [Right.READ, Right.WRITE]}
    for topic, rights in needed.items():
        operations = await topic_operations(gateway.admin, topic)
        if not all(is_allowed(operations, each) for each in rights):
            return True
    try:
        return not is_allowed(await group_operations(gateway.admin, subscription.group), Right.READ)
    except Refused as refusal:
        if refusal.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return False


class Mandates:
    def __init__(self, home: Gateway, actors: Actors, on_verdict: OnVerdict) -> None:
        self._home = home
        self._actors = actors
        self._on_verdict = on_verdict
        self._refusals: dict[str, int] = {}
        self._prolong_at: dict[str, float] = {}
        self._at_once = asyncio.Semaphore(LOOKS_AT_ONCE)

    async def make(self, caller: Gateway, subscription: Subscription) -> Mandate:
        """A mandate of the caller, who becomes the owner."""
        renewer = await self._home.rights.principal()
        try:
            made = await make_scoped_token(caller.admin, grants_of(subscription), renewers=[renewer])
        except Refused as refusal:
            if refusal.code in _NO_TOKENS:
                raise _no_token() from None
            raise
        return Mandate(made.owner, made.id, made.text, made.max_ms)

    async def end(self, mandate: Mandate) -> None:
        await end_token(self._home.admin, mandate.token_id)

    async def look(self, subscriptions: Iterable[Subscription]) -> None:
        """One look at all of them."""
        subscriptions = [each for each in subscriptions if each.is_active and self._actors.has(each)]
        known = {each.mandate.token_id for each in subscriptions if each.mandate}
        for kept in (self._refusals, self._prolong_at):
            for gone in kept.keys() - known:
                del kept[gone]
        await asyncio.gather(*(self._look_at(each, each.mandate) for each in subscriptions if each.mandate))

    async def _look_at(self, subscription: Subscription, mandate: Mandate) -> None:
        async with self._at_once:
            try:
                verdict = await self._verdict(subscription)
                if verdict is None:
                    await self._prolong(mandate)
            except (Refused, Disconnected) as error:
                logger.info(
                    "webhook %(webhook)s: its token cannot be looked at: %(cause)s",
                    {"webhook": subscription.id, "cause": error},
                )
                return
        count = self._refusals[mandate.token_id] = self._refusals.get(mandate.token_id, 0) + 1 if verdict else 0
        if verdict and count >= REFUSALS_MIN:
            logger.warning("webhook %(webhook)s: %(cause)s", {"webhook": subscription.id, "cause": verdict})
            await self._on_verdict(subscription, verdict)

    async def _verdict(self, subscription: Subscription) -> State | None:
        try:
            return "denied" if await _lacks(await self._actors.of(subscription), subscription) else None
        except Refused as refusal:
            if refusal.code in _ENDED:
                return "ended"
            if refusal.code in _DENIED:
                return "denied"
            if refusal.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                # It may come back, and nobody took a right away.
                return None
            raise

    async def _prolong(self, mandate: Mandate) -> None:
        """At half of the time that is left, so that a gateway that is away for a while loses nothing."""
        now = time.monotonic()
        if now < self._prolong_at.get(mandate.token_id, 0):
            return
        expires_ms = await renew_token(self._home.admin, mandate.token_id)
        self._prolong_at[mandate.token_id] = now + max(1.0, (expires_ms / 1000 - time.time()) / 2)


def _no_token() -> Problem:
    return Problem(
        403,
        "Not by a token",
        "a webhook acts by a token of its owner, and who has logged in by a scoped token can make none",
        "log in with a name and a password, or with a token of your identity provider",
    )
