"""The life of delegation tokens: made, renewed, ended, struck off."""

import hashlib
import hmac

import pytest

from headrace.base.errors import Refused
from headrace.cluster.entities import Token
from headrace.cluster.image import Image
from headrace.cluster.records import encode, token_key
from headrace.cluster.store import OPERATIONS_MAX, Change
from headrace.security.tokens import (
    TOKENS_PER_OWNER_MAX,
    TokenLimits,
    TokenRequest,
    change_token,
    create_token,
    expired,
    is_alive,
    key_of,
    new_token,
    renewed,
    shown_key,
    sweep,
    token_by_key,
    visible_tokens,
)
from headrace.wire.codes import ErrorCode

SECRET = b"s" * 32
LIMITS = TokenLimits(lifetime_ms_max=7_000, expiry_ms=1_000)
ALICE = TokenRequest("User:alice", "User:alice", ("User:renewer",))


def token(name: str = "t1", asked: TokenRequest = ALICE, now_ms: int = 100) -> Token:
    return new_token(name, asked, SECRET, now_ms, LIMITS)


def image(*tokens: Token) -> Image:
    return Image().apply([Change(token_key(each.id), encode(each), 5) for each in tokens], 5)


def test_the_key_is_that_of_kafka() -> None:
    assert key_of(SECRET, "t1") == hmac.new(SECRET, b"t1", hashlib.sha512).digest()


@pytest.mark.parametrize(
    ("asked_ms", "expires_ms", "max_ms"),
    [(-1, 1_100, 7_100), (0, 1_100, 7_100), (500, 600, 600), (9_000, 1_100, 7_100)],
)
def test_times_of_a_new_one(asked_ms, expires_ms, max_ms) -> None:
    made = token(asked=ALICE._replace(lifetime_ms=asked_ms))
    assert (made.issued_ms, made.expires_ms, made.max_ms) == (100, expires_ms, max_ms)
    assert is_alive(made, 100) and is_alive(made, expires_ms - 1) and not is_alive(made, expires_ms)


def test_it_is_stored_without_its_key() -> None:
    (commit,) = create_token(Image(), token())
    (stored,) = commit.puts.values()
    assert stored is not None and key_of(SECRET, "t1").hex() not in stored.decode()
    assert image(token()).tokens["t1"] == token()._replace(revision=5)


def test_renewals_stop_at_the_longest_life() -> None:
    assert renewed(token(), -1, 500, LIMITS).expires_ms == 1_500
    assert renewed(token(), 3_000, 500, LIMITS).expires_ms == 3_500
    assert renewed(token(), 90_000, 500, LIMITS).expires_ms == 7_100
    with pytest.raises(Refused) as refused:
        renewed(token(), -1, 1_100, LIMITS)
    assert refused.value.code == ErrorCode.DELEGATION_TOKEN_EXPIRED


def test_an_expiry_is_moved_or_ends_it_at_once() -> None:
    moved = expired(token(), 10, 200)
    assert moved is not None and moved.expires_ms == 210
    assert expired(token(), -1, 99_999) is None
    with pytest.raises(Refused):
        expired(token(), 10, 1_100)
    (commit,) = change_token(token()._replace(revision=7), None)
    assert commit.puts == {"tokens/t1": None} and commit.expect == {"tokens/t1": 7}


def test_it_is_found_by_its_key_or_its_id_only() -> None:
    known = image(token("t1"), token("t2"))
    assert token_by_key(known, key_of(SECRET, "t2")).id == "t2"
    assert token_by_key(known, b"t1").id == "t1"
    for presented in (b"", b"t3", key_of(SECRET, "t3"), key_of(b"other", "t1"), b"\xff" * 64):
        with pytest.raises(Refused) as refused:
            token_by_key(known, presented)
        assert refused.value.code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_only_owner_requester_and_renewers_are_told_the_key() -> None:
    made = token(asked=TokenRequest("User:alice", "User:admin", ("User:renewer",)))
    for principal in ("User:alice", "User:admin", "User:renewer"):
        assert shown_key(made, principal, SECRET) == key_of(SECRET, "t1")
    assert shown_key(made, "User:eve", SECRET) == b"t1"


def test_who_sees_which() -> None:
    bobs = token("t2", TokenRequest("User:bob", "User:bob"))
    known = image(token("t1"), bobs)

    def seen(principal: str, owners: set[str] | None = None, may: bool = False) -> list[str]:
        return [each.id for each in visible_tokens(known, principal, owners, lambda _: may)]

    assert seen("User:alice") == ["t1"] and seen("User:renewer") == ["t1"] and seen("User:eve") == []
    assert seen("User:eve", may=True) == ["t1", "t2"] and seen("User:eve", {"User:bob"}, may=True) == ["t2"]
    assert seen("User:alice", {"User:bob"}) == [] and seen("User:alice", set()) == []


def test_one_owner_cannot_make_them_without_end() -> None:
    full = image(*(token(f"t{each}") for each in range(TOKENS_PER_OWNER_MAX)))
    with pytest.raises(Refused) as refused:
        create_token(full, token("one more"))
    assert refused.value.code == ErrorCode.POLICY_VIOLATION
    assert create_token(full, token("another", TokenRequest("User:bob", "User:bob")))


@pytest.mark.parametrize(
    "asked",
    [
        ALICE._replace(renewers=tuple(f"User:{each}" for each in range(21))),
        ALICE._replace(renewers=("User:" + "x" * 1_000,)),
        TokenRequest("User:" + "x" * 1_000, "User:alice"),
    ],
)
def test_what_is_kept_of_one_has_a_bound(asked: TokenRequest) -> None:
    with pytest.raises(Refused) as refused:
        create_token(Image(), token(asked=asked))
    assert refused.value.code == ErrorCode.INVALID_REQUEST


def test_what_has_expired_is_struck_off_in_commits_of_a_size() -> None:
    known = image(*(token(f"t{each}") for each in range(OPERATIONS_MAX + 1)), token("young", now_ms=5_000))
    commits = list(sweep(known, 5_000))
    assert [len(each.puts) for each in commits] == [OPERATIONS_MAX, 1]
    assert "tokens/young" not in commits[1].puts and all(value is None for value in commits[0].puts.values())
    assert not list(sweep(known, 100))
