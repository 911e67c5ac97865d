"""Groups and tokens that no webhook uses any more: of those that were deleted, of redrives that are done, of mandates that
were replaced.

A group that nobody reads as falls behind for ever, and alerts would say so. It can be deleted when its last member has left,
so this is tried again and again. What is left over follows from the records, so a gateway that starts tries it once more
for all that it reads, and one that dies in between leaves it to the others. A token whose record is compacted away ends
within a day, since nobody prolongs it.
"""

import contextlib

from headrace.admin.admin import Admin
from headrace.admin.groups import delete_groups
from headrace.admin.tokens import end_token
from headrace.base.errors import Refused
from headrace.gateway.webhooks.subscription import Subscription, own_group
from headrace.wire.codes import ErrorCode


class Leftovers:
    def __init__(self) -> None:
        self.groups: set[str] = set()
        self.tokens: set[str] = set()

    def note(self, id: str, before: Subscription | None, after: Subscription | None) -> None:
        mandate = before.mandate if before is not None else None
        if mandate is not None and (after is None or after.mandate != mandate):
            self.tokens.add(mandate.token_id)
        if after is None:
            # Of one that was deleted long ago only the id may be left.
            own = before.own_groups if before is not None else (own_group(id), f"{own_group(id)}.redrive")
            self.groups.update(own)
            return
        self.groups.difference_update(after.groups)
        if after.redriven and not after.redrive_left:
            self.groups.add(after.redrive_group)

    async def sweep(self, admin: Admin) -> None:
        for token_id in sorted(self.tokens):
            with contextlib.suppress(Refused):
                # One that another gateway's login is to prolong is its to end, and ends without it.
                await end_token(admin, token_id)
            self.tokens.discard(token_id)
        for group in sorted(self.groups):
            # It may be wanted again by now.
            if group in self.groups and await _is_over(admin, group):
                self.groups.discard(group)


async def _is_over(admin: Admin, group: str) -> bool:
    """Whether it is gone, or not ours to delete."""
    try:
        await delete_groups(admin, [group])
    except Refused as refusal:
        return refusal.code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return True
