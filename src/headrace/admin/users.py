"""Users who log in with passwords: listed, given a password, deleted. Passwords come here salted, never as they are."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from headrace.admin.admin import Admin, check
from headrace.base.errors import Refused
from headrace.cluster.entities import ScramCredential
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)

MECHANISM_NAMES: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


class ListedUser(NamedTuple):
    name: str
    mechanisms: Sequence[str]


class StoredUser(NamedTuple):
    """A user with what its passwords are proven by."""

    name: str
    credentials: Mapping[int, ScramCredential]
    """Mechanism, by its number in Kafka → credential."""


async def list_users(admin: Admin, names: Sequence[str] = ()) -> list[ListedUser]:
    """All users, or these; one that does not exist is refused."""
    asked = DescribeUserScramCredentialsRequest([UserName(name) for name in names] or None)
    reply = await admin.ask(asked, DescribeUserScramCredentialsResponse)
    check(reply.error_code, reply.error_message)
    for each in reply.results:
        check(each.error_code, each.error_message)
    return [
        ListedUser(each.user, [MECHANISM_NAMES.get(info.mechanism, "unknown") for info in each.credential_infos])
        for each in reply.results
    ]


async def stored_users(admin: Admin) -> list[StoredUser]:
    """All users with their keys; Refused by a broker that does not tell them, or does not know how (UNSUPPORTED_VERSION)."""
    asked = DescribeUserScramCredentialsRequest(None, with_keys=True)
    reply = await admin.ask(asked, DescribeUserScramCredentialsResponse)
    check(reply.error_code, reply.error_message)
    if any(not info.stored_key for each in reply.results for info in each.credential_infos):
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION, "brokers that are not Headrace's tell nobody what passwords are proven by"
        )
    return [
        StoredUser(each.user, {info.mechanism: _credential(info) for info in each.credential_infos})
        for each in reply.results
    ]


def _credential(told: CredentialInfo) -> ScramCredential:
    return ScramCredential(bytes(told.salt), bytes(told.stored_key), bytes(told.server_key), told.iterations)


async def put_stored_user(admin: Admin, user: StoredUser) -> None:
    """Gives a user the credentials that were stored before."""
    kept = [
        ScramCredentialUpsertion(
            user.name, mechanism, each.iterations, each.salt, b"", each.stored_key, each.server_key
        )
        for mechanism, each in user.credentials.items()
    ]
    await upsert_user(admin, kept)


async def upsert_user(admin: Admin, credentials: Sequence[ScramCredentialUpsertion]) -> None:
    """Gives a user these credentials, one after the other: Kafka takes one of a user at a time."""
    for each in credentials:
        await _alter(admin, AlterUserScramCredentialsRequest([], [each]))


async def delete_user(admin: Admin, name: str) -> None:
    """Deletes every credential of a user, and with the last one the user."""
    for user in await list_users(admin, [name]):
        for number, mechanism in MECHANISM_NAMES.items():
            if mechanism in user.mechanisms:
                await _alter(admin, AlterUserScramCredentialsRequest([ScramCredentialDeletion(name, number)], []))


async def _alter(admin: Admin, request: AlterUserScramCredentialsRequest) -> None:
    reply = await admin.ask(request, AlterUserScramCredentialsResponse)
    for each in reply.results:
        check(each.error_code, each.error_message)
