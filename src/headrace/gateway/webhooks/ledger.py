"""The subscriptions that the records of `_headrace_webhooks` add up to, taken in their order. No I/O here.

Every gateway takes the same records in the same order and comes to the same set: whose change counts is decided by the log.
A change of what is not there is nothing, so nothing that was deleted comes back. Of two that want the same group the first
has it, and the second never is.
"""

import logging
from collections.abc import Callable

from headrace.gateway.webhooks.sealed_secrets import CannotOpen, SecretKeys
from headrace.gateway.webhooks.subscription import Subscription, changed_by, from_record, holder_of
from headrace.wire.records import Record

logger = logging.getLogger("headrace.gateway.webhooks")

OnChange = Callable[[str, Subscription | None, Subscription | None], None]
"""(id, before, after)."""


class Ledger:
    def __init__(self, on_change: OnChange, keys: SecretKeys | None = None) -> None:
        self.subscriptions: dict[str, Subscription] = {}
        self._keys = keys
        self._on_change = on_change

    def apply(self, record: Record) -> None:
        id, _, name = (record.key or b"").decode(errors="replace").partition("/")
        before = self.subscriptions.get(id)
        if name:
            if before is not None and record.value:
                self._put(record, changed_by(before, name, record.value))
        elif record.value:
            self._put(record, self._opened(id, record.value))
        else:
            self.subscriptions.pop(id, None)
            self._on_change(id, before, None)

    def _opened(self, id: str, value: bytes) -> Subscription | None:
        try:
            return from_record(value, self._keys)
        except CannotOpen as error:
            fields = {"webhook": id, "cause": error}
            logger.error("the secret of %(webhook)s cannot be opened: %(cause)s; see the setting webhook_keys", fields)
            return None

    def _put(self, record: Record, after: Subscription | None) -> None:
        if after is None:
            logger.warning("offset %(offset)d is nothing that we understand", {"offset": record.offset})
        elif holder_of(after, self.subscriptions.values()) is None:
            before = self.subscriptions.get(after.id)
            self.subscriptions[after.id] = after
            self._on_change(after.id, before, after)
