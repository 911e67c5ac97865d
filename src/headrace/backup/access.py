"""Users and rules (ACLs) of a cluster: asked for a backup, and made again by a restore, rules first, users last.

A backup has users as brokers keep them: with what their passwords are proven by, and without the passwords. It has no
tokens: they are made of a secret that is the cluster's own, live for days at most, and a revoked one must not come back.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from headrace.admin.acls import create_acls, list_acls
from headrace.admin.admin import Admin
from headrace.admin.users import StoredUser, list_users, put_stored_user, stored_users
from headrace.backup.manifest import SavedUser
from headrace.base.errors import Refused
from headrace.cluster.entities import Acl
from headrace.security.acl import AclFilter
from headrace.wire.codes import ErrorCode

# Kafka's limit of one request.
_MADE_AT_ONCE: Final = 1_000
_NOT_TOLD: Final = frozenset({ErrorCode.SECURITY_DISABLED, ErrorCode.UNSUPPORTED_VERSION})


class Access(NamedTuple):
    users: tuple[SavedUser, ...]
    acls: tuple[Acl, ...]
    left_out: tuple[str, ...]
    """Parts that the cluster does not tell, in words."""


async def access_of(admin: Admin) -> Access:
    """All users and rules; Refused if whoever asks may not have them."""
    acls = tuple(acl._replace(revision=0) for acl in await rules_of(admin) or ())
    try:
        found = await stored_users(admin)
    except Refused as refusal:
        if refusal.code not in _NOT_TOLD:
            raise
        names = await names_of_users(admin)
        return Access((), acls, (f"users: {', '.join(sorted(names))} ({refusal.message})",) if names else ())
    return Access(tuple(SavedUser(*each) for each in found), acls, ())


async def rules_of(admin: Admin) -> list[Acl] | None:
    """None for a cluster that has no rules at all (authorizer.class.name is not set)."""
    try:
        return await list_acls(admin, AclFilter())
    except Refused as refusal:
        if refusal.code != ErrorCode.SECURITY_DISABLED:
            raise
        return None


async def names_of_users(admin: Admin) -> frozenset[str]:
    return frozenset(each.name for each in await list_users(admin))


async def put_rules(admin: Admin, acls: Collection[Acl]) -> None:
    """Before anything that they are about. May be done twice."""
    left = list(acls)
    while left:
        now, left = left[:_MADE_AT_ONCE], left[_MADE_AT_ONCE:]
        await create_acls(admin, now)


async def put_users(admin: Admin, users: Collection[SavedUser]) -> None:
    """After everything else: among them may be who restores, and whose password is another one from then on."""
    for user in users:
        await put_stored_user(admin, StoredUser(*user))
