"""Groups that no webhook reads as any more: of those that were deleted, and of redrives that are done.

A group that nobody reads as falls behind for ever, and alerts would say so. It can be deleted when its last member has left,
so this is tried again and again. What is left over follows from the records, so a gateway that starts tries it once more
for all that it reads, and one that dies in between leaves it to the others.
"""

from headrace.admin.admin import Admin
from headrace.admin.groups import delete_groups
from headrace.base.errors import Refused
from headrace.gateway.webhooks.subscription import Subscription, own_group
from headrace.wire.codes import ErrorCode


class Leftovers:
    def __init__(self) -> None:
        self.groups: set[str] = set()

    def note(self, id: str, before: Subscription | None, after: Subscription | None) -> None:
        if after is None:
            # Of one that was deleted long ago only the id may be left.
            own = before.own_groups if before is not None else (own_group(id), f"{own_group(id)}.redrive")
            self.groups.update(own)
            return
        self.groups.difference_update(after.groups)
        if after.redriven and not after.redrive_left:
            self.groups.add(after.redrive_group)

    async def sweep(self, admin: Admin) -> None:
        for group in sorted(self.groups):
            # It may be wanted again by now.
            if group in self.groups and await _is_gone(admin, group):
                self.groups.discard(group)


async def _is_gone(admin: Admin, group: str) -> bool:
    try:
        await delete_groups(admin, [group])
    except Refused as refusal:
        return refusal.code == ErrorCode.GROUP_ID_NOT_FOUND
    return True
