"""The room for webhooks: how many there may be, of one owner too, and one reader of each group."""

import contextlib
from collections.abc import Callable, Iterator, Mapping

from headrace.gateway.problem import Problem
from headrace.gateway.webhooks.subscription import Subscription, holder_of

# A fourth of all may be of one owner, where callers log in.
OWNER_SHARE = 4


class Reservations:
    def __init__(self, webhooks_max: int, there: Callable[[], Mapping[str, Subscription]]) -> None:
        self._webhooks_max = webhooks_max
        self._there = there
        self._subscribing: dict[str, tuple[str, Subscription]] = {}

    @contextlib.contextmanager
    def reserved(self, subscription: Subscription, owner: str) -> Iterator[None]:
        """Reserves a subscription's place and groups, from the check that they are free until the log has the answer.

        Owner "" is everybody: nobody logs in.
        """
        self._require(subscription, owner)
        self._subscribing[subscription.id] = owner, subscription
        try:
            yield
        finally:
            del self._subscribing[subscription.id]

    def _require(self, wanted: Subscription, owner: str) -> None:
        reserved = {id: each for id, (_, each) in self._subscribing.items()}
        existing = {**reserved, **self._there()}
        owners = [of for of, _ in self._subscribing.values()] + [each.owner for each in self._there().values()]
        share = max(1, self._webhooks_max // OWNER_SHARE) if owner else self._webhooks_max
        if len(existing) >= self._webhooks_max or sum(each == owner for each in owners) >= share:
            limit = f"webhooks_max, {self._webhooks_max}" + (f", and {share} of them of one owner" if owner else "")
            fix = "delete some, or raise webhooks_max of the gateway"
            raise Problem(409, "Too many webhooks", f"there are as many webhooks as there may be ({limit})", fix)
        holder = holder_of(wanted, existing.values())
        if holder is not None:
            raise group_in_use(holder, is_told=not owner or holder.owner == owner)


def group_in_use(holder: Subscription, is_told: bool) -> Problem:
    who = f"webhook {holder.id} reads as group {holder.group}" if is_told else "another webhook reads as this group"
    fix = "choose another group: two receivers in one group would each get a part of the messages"
    return Problem(409, "Group in use", who, fix)
