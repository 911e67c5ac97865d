"""The subscriptions that the records of `_headrace_webhooks` add up to, taken in their order. No I/O here.

Every gateway takes the same records in the same order and comes to the same set: whose change counts is decided by the log.
A change of what is not there is nothing, so nothing that was deleted comes back. Of two that want the same group the first
has it, and the second never is. Where there is a key, a secret that is not sealed is taken from what was there before only,
to be sealed.
"""

import logging
from collections.abc import Callable

from headrace.gateway.webhooks.sealed_secrets import CannotOpen, SecretKeys
from headrace.gateway.webhooks.subscription import (
    Subscription,
    changed_by,
    from_record,
    holder_of,
    is_plain,
    resealed,
)
from headrace.wire.records import Record

logger = logging.getLogger("headrace.gateway.webhooks")

OnChange = Callable[[str, Subscription | None, Subscription | None], None]
"""(id, before, after)."""


class Ledger:
    def __init__(self, on_change: OnChange, keys: SecretKeys | None = None) -> None:
        self.subscriptions: dict[str, Subscription] = {}
        self.plain: set[str] = set()
        """Ids of those whose secret is to be sealed."""
        self.takes_plain = True
        self._keys = keys
        self._on_change = on_change

    def apply(self, record: Record) -> None:
        id, _, name = (record.key or b"").decode(errors="replace").partition("/")
        before = self.subscriptions.get(id)
        if name:
            if before is not None and record.value:
                self._put(record, self._opened(id, lambda value: changed_by(before, name, value, self._keys), record))
        elif record.value:
            self._apply_whole(id, before, record, record.value)
        else:
            self.subscriptions.pop(id, None)
            self.plain.discard(id)
            self._on_change(id, before, None)

    def _apply_whole(self, id: str, before: Subscription | None, record: Record, value: bytes) -> None:
        if self._keys is not None and is_plain(value):
            if not self.takes_plain:
                logger.error(
                    "the secret of %(webhook)s is not sealed, so it is left alone: a gateway without webhook_keys wrote it",
                    {"webhook": id},
                )
                return
            self.plain.add(id)
        else:
            self.plain.discard(id)
        after = self._opened(id, lambda value: from_record(value, self._keys), record)
        self._put(record, resealed(before, after) if before is not None and after is not None else after)

    def _opened(self, id: str, read: Callable[[bytes], Subscription | None], record: Record) -> Subscription | None:
        try:
            return read(record.value or b"")
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
