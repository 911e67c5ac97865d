"""Who may make, see, prolong and end delegation tokens, in Kafka's codes."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.base.clock import Now
from headrace.broker.handlers.tokens import (
    handle_create_delegation_token,
    handle_describe_delegation_token,
    handle_expire_delegation_token,
    handle_renew_delegation_token,
)
from headrace.broker.security.rights import ANONYMOUS, EVERY_RIGHT, Rights
from headrace.broker.security.token_rights import TokenRights
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Secret
from headrace.cluster.image import Image
from headrace.cluster.store import Change
from headrace.security.operations import Operation, ResourceType
from headrace.security.scope import Scope
from headrace.security.scoped_tokens import narrowed, whole_token
from headrace.security.tokens import TOKENS, key_of
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
    TokenPrincipal,
)

SECRET = b"s" * 32
NOW_MS = 1_000_000
DAY_MS = 86_400_000
EVE, AL, BO = "User:eve", "User:al", "User:bo"


class NoRights(Rights):
    """The rights to nothing but what is named."""

    __slots__ = ("_named",)

    is_unlimited = False

    def __init__(self, *named: tuple[Operation, ResourceType, str]) -> None:
        self._named = named

    def may(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        return (operation, kind, name) in self._named


class Cluster:
    """A broker's view, whose changes are made at once."""

    def __init__(self, secrets: bool = True) -> None:
        self.image = Image(secrets={TOKENS: Secret(SECRET)} if secrets else {})
        self.config = BrokerConfig()
        self.metadata = self
        self.made = 0

    async def change(self, plan: Any) -> None:
        for commit in plan(self.image):
            revision = self.image.revision + 1
            changes = [Change(key, value, revision) for key, value in commit.puts.items()]
            self.image = self.image.apply(changes, revision)

    def new_id(self) -> str:
        self.made += 1
        return f"t{self.made}"

    def ask(self, body: Any, principal: str = AL, rights: Rights | None = None, now_ms: int = NOW_MS) -> Any:
        rights = NoRights() if rights is None else rights
        request: Any = SimpleNamespace(body=body, principal=principal, rights=rights, now=Now(0.0, now_ms))
        view: Any = self
        match body:
            case CreateDelegationTokenRequest():
                return asyncio.run(handle_create_delegation_token(view, self.new_id, request))
            case RenewDelegationTokenRequest():
                return asyncio.run(handle_renew_delegation_token(view, request))
            case ExpireDelegationTokenRequest():
                return asyncio.run(handle_expire_delegation_token(view, request))
        return handle_describe_delegation_token(view, request)

    def make(self, owner: str | None = None, *renewers: str, **asked: Any) -> Any:
        kind, _, name = (owner or "").partition(":")
        others = [TokenPrincipal(*each.split(":")) for each in renewers]
        return self.ask(CreateDelegationTokenRequest(kind or None, name or None, others, -1), **asked)

    def seen(self, *owners: str, **asked: Any) -> dict[str, bytes]:
        """Id → what is told as the key."""
        named = [TokenPrincipal(*each.split(":")) for each in owners] or None
        answered = self.ask(DescribeDelegationTokenRequest(named), **asked)
        assert not answered.error_code
        return {each.token_id: each.hmac for each in answered.tokens}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


EVERY_API = [
    CreateDelegationTokenRequest(None, None, [], -1),
    RenewDelegationTokenRequest(b"t1", -1),
    ExpireDelegationTokenRequest(b"t1", -1),
    DescribeDelegationTokenRequest(None),
]
each_api = pytest.mark.parametrize("body", EVERY_API, ids=lambda body: type(body).__name__)


@each_api
def test_nobody_asks_without_a_login_or_by_a_token(cluster: Cluster, body: Any) -> None:
    cluster.make(principal=AL)
    refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert cluster.ask(body, principal=ANONYMOUS, rights=EVERY_RIGHT).error_code == refused
    by_token = TokenRights(EVERY_RIGHT, "t1", Scope())
    assert cluster.ask(body, principal=AL, rights=by_token).error_code == refused
    assert list(cluster.image.tokens) == ["t1"]


@each_api
def test_there_are_none_where_nobody_logs_in(body: Any) -> None:
    assert Cluster(secrets=False).ask(body).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def test_one_is_made_for_who_asks(cluster: Cluster) -> None:
    made = cluster.make()
    assert (made.error_code, made.principal_name, made.token_id) == (0, "al", "t1")
    assert made.hmac == key_of(SECRET, "t1")
    assert (made.expiry_timestamp_ms, made.max_timestamp_ms) == (NOW_MS + DAY_MS, NOW_MS + 7 * DAY_MS)
    assert cluster.image.tokens["t1"].owner == AL


def test_one_of_another_user_needs_the_right_to_it(cluster: Cluster) -> None:
    denied = cluster.make(owner=BO)
    assert denied.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED and not cluster.image.tokens
    assert not denied.hmac and not denied.token_id
    made = cluster.make(owner=BO, rights=NoRights((Operation.CREATE_TOKENS, ResourceType.USER, BO)))
    assert (made.error_code, made.principal_name, made.token_requester_principal_name) == (0, "bo", "al")


@pytest.mark.parametrize("owner", [None, "Group:x"])
def test_principals_are_users(cluster: Cluster, owner: str | None) -> None:
    made = cluster.make(owner, *([] if owner else ["Group:x"]), rights=EVERY_RIGHT)
    assert made.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE and not cluster.image.tokens


def test_who_sees_one_and_its_key(cluster: Cluster) -> None:
    cluster.make(None, BO)
    key = key_of(SECRET, "t1")
    assert cluster.seen(principal=AL) == {"t1": key} and cluster.seen(principal=BO) == {"t1": key}
    assert cluster.seen(principal=EVE) == {}
    for right in (
        (Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, "t1"),
        (Operation.DESCRIBE_TOKENS, ResourceType.USER, AL),
    ):
        assert cluster.seen(principal=EVE, rights=NoRights(right)) == {"t1": b"t1"}
    assert cluster.seen(EVE, principal=AL) == {} and cluster.seen(AL, EVE, principal=AL) == {"t1": key}


def test_who_prolongs_one(cluster: Cluster) -> None:
    cluster.make(None, BO)
    renewal = RenewDelegationTokenRequest(key_of(SECRET, "t1"), 2 * DAY_MS)
    assert (
        cluster.ask(renewal, principal=EVE, rights=EVERY_RIGHT).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    )
    assert cluster.ask(renewal, principal=BO).expiry_timestamp_ms == NOW_MS + 2 * DAY_MS
    late = cluster.ask(renewal, principal=AL, now_ms=NOW_MS + 3 * DAY_MS)
    assert late.error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
    unknown = RenewDelegationTokenRequest(b"x" * 64, -1)
    assert cluster.ask(unknown).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_who_ends_one(cluster: Cluster) -> None:
    may_alter = NoRights((Operation.ALTER, ResourceType.CLUSTER, "kafka-cluster"))
    by_id = ExpireDelegationTokenRequest(b"t1", -1)
    cluster.make()
    assert cluster.ask(by_id, principal=EVE).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    soon = ExpireDelegationTokenRequest(key_of(SECRET, "t1"), 1_000)
    assert cluster.ask(soon, principal=AL).expiry_timestamp_ms == NOW_MS + 1_000
    assert cluster.ask(by_id, principal=EVE, rights=may_alter).error_code == 0
    assert not cluster.image.tokens
    assert cluster.ask(by_id, principal=AL).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_who_ends_a_narrowed_one_alone(cluster: Cluster) -> None:
    may_alter = NoRights((Operation.ALTER, ResourceType.CLUSTER, "kafka-cluster"))
    cluster.make(None, BO)
    whole = whole_token("t1", key_of(SECRET, "t1"))
    names = [narrowed(whole, [{"until": each}]).name.encode() for each in (1, 2, 3)]
    asked = ExpireDelegationTokenRequest(names[0], -1)
    assert cluster.ask(asked, principal=EVE).error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert not cluster.image.tokens["t1"].revoked
    for count, (name, rights) in enumerate(zip(names, (None, NoRights(), may_alter), strict=True)):
        asked = ExpireDelegationTokenRequest(name, -1)
        assert cluster.ask(asked, principal=(AL, BO, EVE)[count], rights=rights).error_code == 0
        assert len(cluster.image.tokens["t1"].revoked) == count + 1
    for body in (ExpireDelegationTokenRequest(names[0], 1_000), RenewDelegationTokenRequest(names[0], -1)):
        assert cluster.ask(body).error_code == ErrorCode.INVALID_REQUEST
    elsewhere = ExpireDelegationTokenRequest(names[0].replace(b"InQx", b"InQy"), -1)
    assert cluster.ask(elsewhere).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert cluster.ask(ExpireDelegationTokenRequest(whole.name.encode(), -1)).error_code == 0
    assert not cluster.image.tokens
