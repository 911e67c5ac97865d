"""Delegation tokens of a cluster: made, listed, ended."""

from collections.abc import Sequence
from typing import NamedTuple

from headrace.admin.admin import Admin, check
from headrace.base.errors import Refused
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    TokenPrincipal,
)

USER = "User"
_NO_USER = "Nobody"


class MadeToken(NamedTuple):
    id: str
    key: bytes
    owner: str
    expires_ms: int
    max_ms: int
    """Beyond it nobody prolongs the token."""

    def __repr__(self) -> str:
        return f"MadeToken({self.id!r}, ***, {self.owner!r}, {self.expires_ms}, {self.max_ms})"


class ListedToken(NamedTuple):
    id: str
    owner: str
    requester: str
    renewers: Sequence[str]
    issued_ms: int
    expires_ms: int
    max_ms: int


async def create_token(
    admin: Admin, owner: str | None, lifetime_ms: int | None, renewers: Sequence[str] = ()
) -> MadeToken:
    """A token that lives as long as it was asked to, as far as the cluster lets it; owner None is whoever asks.

    Without a lifetime it ends soon, unless a renewer prolongs it.
    """
    kind = None if owner is None else USER
    named = [TokenPrincipal(USER, each) for each in renewers]
    asked = CreateDelegationTokenRequest(kind, owner, named, -1 if lifetime_ms is None else lifetime_ms)
    made = await admin.ask(asked, CreateDelegationTokenResponse)
    check(made.error_code, _TOLD.get(made.error_code))
    key, expires_ms = bytes(made.hmac), made.expiry_timestamp_ms
    if lifetime_ms is not None and expires_ms < made.max_timestamp_ms:
        renewal = RenewDelegationTokenRequest(key, made.max_timestamp_ms - made.issue_timestamp_ms)
        renewed = await admin.ask(renewal, RenewDelegationTokenResponse)
        check(renewed.error_code, None)
        expires_ms = renewed.expiry_timestamp_ms
    return MadeToken(made.token_id, key, made.principal_name, expires_ms, made.max_timestamp_ms)


async def renew_token(admin: Admin, token_id: str) -> int:
    """Prolongs a token as its renewer, by the usual time of the cluster; until when it lives now."""
    renewed = await admin.ask(RenewDelegationTokenRequest(token_id.encode(), -1), RenewDelegationTokenResponse)
    check(renewed.error_code, None)
    return renewed.expiry_timestamp_ms


async def end_token(admin: Admin, token_id: str) -> None:
    """Ends a token as its owner or renewer; one that has ended is no error."""
    ended = await admin.ask(ExpireDelegationTokenRequest(token_id.encode(), -1), ExpireDelegationTokenResponse)
    if ended.error_code not in (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, ErrorCode.DELEGATION_TOKEN_EXPIRED):
        check(ended.error_code, None)


async def who_asks(admin: Admin) -> str:
    """The user that the brokers know us as; also one who logged in by a token is told its owner.

    No API asks that. CreateDelegationToken names the asker when it refuses, and a renewer that is no user is refused.
    """
    asked = CreateDelegationTokenRequest(renewers=[TokenPrincipal(_NO_USER, "")], max_lifetime_ms=1)
    answer = await admin.ask(asked, CreateDelegationTokenResponse)
    if not answer.principal_name:
        check(answer.error_code, _TOLD.get(answer.error_code))
    return answer.principal_name


async def list_tokens(admin: Admin, owners: Sequence[str] = ()) -> list[ListedToken]:
    """The tokens of these owners, or of all, as far as whoever asks may see them."""
    return [_listed(each) for each in await _described(admin, owners)]


async def end_tokens(admin: Admin, ids: Sequence[str], owners: Sequence[str] = ()) -> list[str]:
    """Ends the tokens with these ids and all of these owners; the ids of those that ended."""
    described = await _described(admin, () if ids else owners)
    known = {each.token_id: each for each in described}
    for token_id in ids:
        if token_id not in known:
            raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, f"you have, and may see, no token {token_id}")
    wanted = [*ids, *(each.token_id for each in described if each.principal_name in owners)]
    for token_id in dict.fromkeys(wanted):
        request = ExpireDelegationTokenRequest(known[token_id].hmac, -1)
        ended = await admin.ask(request, ExpireDelegationTokenResponse)
        if ended.error_code != ErrorCode.DELEGATION_TOKEN_NOT_FOUND:
            check(ended.error_code, None)
    return list(dict.fromkeys(wanted))


async def end_narrowed(admin: Admin, name: str) -> None:
    """Ends a narrowed token alone, by its name: what stands before its last dot."""
    ended = await admin.ask(ExpireDelegationTokenRequest(name.encode(), -1), ExpireDelegationTokenResponse)
    check(ended.error_code, _TOLD_OF_NARROWED.get(ended.error_code))


async def _described(admin: Admin, owners: Sequence[str]) -> list[DescribedDelegationToken]:
    asked = DescribeDelegationTokenRequest([TokenPrincipal(USER, each) for each in owners] or None)
    reply = await admin.ask(asked, DescribeDelegationTokenResponse)
    check(reply.error_code, _TOLD.get(reply.error_code))
    return reply.tokens


def _listed(token: DescribedDelegationToken) -> ListedToken:
    owner = token.principal_name
    return ListedToken(
        token.token_id,
        owner,
        token.token_requester_principal_name or owner,
        [each.principal_name for each in token.renewers],
        token.issue_timestamp,
        token.expiry_timestamp,
        token.max_timestamp,
    )


_TOLD = {
    int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED): "tokens are given to who has logged in, and not by a token",
    int(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED): "this cluster has no tokens: none of its listeners asks for a login",
}
_TOLD_OF_NARROWED = {
    **_TOLD,
    int(ErrorCode.POLICY_VIOLATION): "too many narrowed from it are revoked alone already; revoke all of it by its id",
    int(
        ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    ): "what it was narrowed from was revoked, or has expired, or there was none",
}
