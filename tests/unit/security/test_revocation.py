"""Revocations of narrowed tokens: what ends with one, what goes on, and how many there may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import Refused
from headrace.cluster.entities import Token
from headrace.cluster.records import decode, encode, token_key
from headrace.security.revocation import REVOKED_MAX, fingerprints, named_token, with_revoked
from headrace.security.scoped_tokens import Caveat, ScopedToken, narrowed, whole_token
from headrace.security.tokens import TokenLimits, expired, renewed
from headrace.wire.codes import ErrorCode

KEY = b"k" * 64
WHOLE = whole_token("t1", KEY)
TOKEN = Token("t1", "User:al", "User:al", (), 0, 1_000, 2_000, "print")
CAVEATS = [{"may": ["read topic a"]}, {"may": ["read topic b"]}, {"until": 900}, {"from": ["10.0.0.0/8"]}]
CHAINS = st.lists(st.sampled_from(CAVEATS), min_size=1, max_size=4)


def ends(token: ScopedToken, kept: Token) -> bool:
    return not set(fingerprints(token, KEY)).isdisjoint(kept.revoked)


@given(CHAINS, CHAINS)
def test_what_begins_so_ends_and_nothing_else(revoked: list[Caveat], other: list[Caveat]) -> None:
    kept = with_revoked(TOKEN, narrowed(WHOLE, revoked), KEY)
    assert kept is not None
    assert ends(narrowed(WHOLE, other), kept) == (other[: len(revoked)] == revoked)
    assert not ends(WHOLE, kept)


def test_a_fingerprint_is_of_one_token_and_one_key() -> None:
    one = narrowed(WHOLE, CAVEATS[:1])
    assert fingerprints(one, KEY) != fingerprints(one, b"other")
    assert fingerprints(one, KEY) != fingerprints(one._replace(id="t2"), KEY)
    assert not fingerprints(WHOLE, KEY)
    (told,) = fingerprints(one, KEY)
    assert told not in one.text and one.signature.hex()[:8] not in told


def test_twice_is_once_and_all_of_it_is_none() -> None:
    once = with_revoked(TOKEN, narrowed(WHOLE, CAVEATS[:1]), KEY)
    assert once is not None and with_revoked(once, narrowed(WHOLE, CAVEATS[:1]), KEY) is once
    assert with_revoked(TOKEN, WHOLE, KEY) is None


def test_so_many_are_remembered_and_no_more() -> None:
    kept: Token | None = TOKEN
    for until in range(REVOKED_MAX):
        assert kept is not None
        kept = with_revoked(kept, narrowed(WHOLE, [{"until": until + 1}]), KEY)
    assert kept is not None and len(kept.revoked) == REVOKED_MAX
    with pytest.raises(Refused) as refused:
        with_revoked(kept, narrowed(WHOLE, CAVEATS[:1]), KEY)
    assert refused.value.code == ErrorCode.POLICY_VIOLATION


def test_they_are_kept_with_the_token_however_its_life_changes() -> None:
    kept = with_revoked(TOKEN, narrowed(WHOLE, CAVEATS[:1]), KEY)
    assert kept is not None
    longer = renewed(kept, 1_500, 10, TokenLimits(10_000, 10_000))
    shorter = expired(longer, 100, 10)
    assert shorter is not None and shorter.revoked == longer.revoked == kept.revoked != ()
    assert decode(token_key("t1"), encode(kept), 7) == kept._replace(revision=7)


def test_one_from_before_has_none() -> None:
    text = encode(TOKEN).replace(b',"revoked":[]', b"")
    assert b"revoked" not in text and decode(token_key("t1"), text, 7) == TOKEN._replace(revision=7)


@pytest.mark.parametrize(
    "name", [b"hrt1.", b"hrt1.AAAA", WHOLE.text.encode(), b"hrt1.\xff", WHOLE.name.encode() + b"="]
)
def test_other_texts_name_nothing(name: bytes) -> None:
    with pytest.raises(Refused) as refused:
        named_token(name)
    assert refused.value.code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
