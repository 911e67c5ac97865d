"""CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken.

Whoever asks must have logged in, and not by a token.
"""

from collections.abc import Callable
from typing import Final

from headrace.base.errors import Refused
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.security.rights import ANONYMOUS
from headrace.cluster.entities import Token
from headrace.cluster.image import Image
from headrace.cluster.store import Commit
from headrace.security.operations import Operation, ResourceType
from headrace.security.revocation import is_narrowed, named_token, token_of, with_revoked
from headrace.security.tokens import (
    TOKENS,
    TokenLimits,
    TokenRequest,
    change_token,
    create_token,
    expired,
    is_owner_or_renewer,
    key_of,
    new_token,
    renewed,
    shown_key,
    token_by_key,
    visible_tokens,
)
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.tokens import (
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenResponse,
    TokenPrincipal,
)

USER: Final = "User"

Change = Callable[[Token, int], Token | None]


async def handle_create_delegation_token(
    view: View, new_id: Callable[[], str], request: Request
) -> CreateDelegationTokenResponse:
    try:
        secret = _check_asker(view, request)
        token = new_token(new_id(), _asked(request), secret, request.now.wall, _limits(view))
        await view.metadata.change(lambda image: create_token(image, token))
    except Refused as refusal:
        own = _parts(request.principal)
        return CreateDelegationTokenResponse(refusal.code, *own, *own)
    times = token.issued_ms, token.expires_ms, token.max_ms
    who = *_parts(token.owner), *_parts(token.requester)
    return CreateDelegationTokenResponse(0, *who, *times, token.id, key_of(secret, token.id))


def _asked(request: Request) -> TokenRequest:
    body, requester = request.body, request.principal
    owner = requester
    if body.owner_principal_name:
        owner = _principal(body.owner_principal_type or "", body.owner_principal_name)
    renewers = tuple(dict.fromkeys(_principal(each.principal_type, each.principal_name) for each in body.renewers))
    if owner != requester and not request.rights.may(Operation.CREATE_TOKENS, ResourceType.USER, owner):
        raise Refused(ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED, f"{requester} may not make tokens of {owner}")
    return TokenRequest(owner, requester, renewers, body.max_lifetime_ms)


async def handle_renew_delegation_token(view: View, request: Request) -> RenewDelegationTokenResponse:
    period_ms, limits, presented = request.body.renew_period_ms, _limits(view), bytes(request.body.hmac)

    def prolong(token: Token, now_ms: int) -> Token:
        if is_narrowed(presented):
            raise Refused(ErrorCode.INVALID_REQUEST, "a narrowed token lives as long as what it was narrowed from")
        return renewed(token, period_ms, now_ms, limits)

    code, expires_ms = await _changed(view, request, False, prolong)
    return RenewDelegationTokenResponse(code, expires_ms)


async def handle_expire_delegation_token(view: View, request: Request) -> ExpireDelegationTokenResponse:
    """Beyond Kafka, the name of a narrowed token ends that one alone, with all that were narrowed from it."""
    period_ms, presented = request.body.expiry_time_period_ms, bytes(request.body.hmac)
    may_end_all = request.rights.cluster(Operation.ALTER)

    def end(token: Token, now_ms: int) -> Token | None:
        if not is_narrowed(presented):
            return expired(token, period_ms, now_ms)
        if period_ms >= 0:
            raise Refused(ErrorCode.INVALID_REQUEST, "a narrowed token is ended at once, or narrowed further")
        return with_revoked(token, named_token(presented), key_of(_secret(view), token.id))

    code, expires_ms = await _changed(view, request, may_end_all, end)
    return ExpireDelegationTokenResponse(code, expires_ms)


async def _changed(view: View, request: Request, may_change_all: bool, change: Change) -> tuple[int, int]:
    """The code of the answer, and the token's expiry from now on."""
    presented, now_ms, expires_ms = bytes(request.body.hmac), request.now.wall, -1

    def plan(image: Image) -> list[Commit]:
        nonlocal expires_ms
        token = _token(image, presented)
        if not may_change_all and not is_owner_or_renewer(token, request.principal):
            raise Refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, f"token {token.id} belongs to {token.owner}")
        after = change(token, now_ms)
        expires_ms = now_ms if after is None else after.expires_ms
        return change_token(token, after)

    try:
        _check_asker(view, request)
        await view.metadata.change(plan)
    except Refused as refusal:
        return refusal.code, -1
    return 0, expires_ms


def _token(image: Image, presented: bytes) -> Token:
    return token_of(image, named_token(presented)) if is_narrowed(presented) else token_by_key(image, presented)


def handle_describe_delegation_token(view: View, request: Request) -> DescribeDelegationTokenResponse:
    rights, named = request.rights, request.body.owners
    owners = None if named is None else {f"{each.principal_type}:{each.principal_name}" for each in named}

    def may_describe(token: Token) -> bool:
        return rights.may(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.id) or rights.may(
            Operation.DESCRIBE_TOKENS, ResourceType.USER, token.owner
        )

    try:
        secret = _check_asker(view, request)
    except Refused as refusal:
        return DescribeDelegationTokenResponse(refusal.code)
    tokens = visible_tokens(view.image, request.principal, owners, may_describe)
    return DescribeDelegationTokenResponse(0, [_described(each, request.principal, secret) for each in tokens])


def _described(token: Token, principal: str, secret: bytes) -> DescribedDelegationToken:
    who = *_parts(token.owner), *_parts(token.requester)
    times = token.issued_ms, token.expires_ms, token.max_ms
    renewers = [TokenPrincipal(*_parts(each)) for each in token.renewers]
    return DescribedDelegationToken(*who, *times, token.id, shown_key(token, principal, secret), renewers)


def _check_asker(view: View, request: Request) -> bytes:
    """The secret that keys are made of, for one who may ask about tokens."""
    if request.principal == ANONYMOUS or request.rights.token_id:
        raise Refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, "tokens are for who has logged in without one")
    return _secret(view)


def _secret(view: View) -> bytes:
    secret = view.image.secrets.get(TOKENS)
    if secret is None:
        raise Refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, "no listener asks for a login (SASL)")
    return secret.value


def _limits(view: View) -> TokenLimits:
    config = view.config
    return TokenLimits(
        config.number("delegation.token.max.lifetime.ms"), config.number("delegation.token.expiry.time.ms")
    )


def _principal(kind: str, name: str) -> str:
    if kind != USER or not name:
        raise Refused(ErrorCode.INVALID_PRINCIPAL_TYPE, f"a principal is a {USER}, not a {kind!r}")
    return f"{USER}:{name}"


def _parts(principal: str) -> tuple[str, str]:
    kind, _, name = principal.partition(":")
    return kind, name
