"""OAUTHBEARER: the message, and what a token must claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.security.oauthbearer import Bearer, ClaimRules, check_claims, parse_bearer
from headrace.security.refusal import LoginRefused

NOW = 1_800_000_000
RULES = ClaimRules("https://issuer", frozenset(["headrace", "kafka"]), 30)
GOOD = {"sub": "al", "iss": "https://issuer", "aud": "headrace", "iat": NOW - 10, "exp": NOW + 60}


@pytest.mark.parametrize(
    ("message", "bearer"),
    [
        (b"n,,\x01auth=Bearer a.b.c\x01\x01", Bearer("a.b.c", "")),
        (b"n,a=al,\x01auth=Bearer a.b.c\x01\x01", Bearer("a.b.c", "al")),
        (b"n,a=a=2Cl,\x01auth=bearer a.b.c\x01logicalCluster=l-1\x01poolId=p 2\x01\x01", Bearer("a.b.c", "a,l")),
    ],
)
def test_the_message_of_a_client(message: bytes, bearer: Bearer) -> None:
    assert parse_bearer(message) == bearer


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n,,\x01",
        b"n,,\x01auth=Bearer a.b.c\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Basic abc\x01\x01",
        b"n,,\x01host=x\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01auth=Bearer d.e.f\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01k1=v\x01\x01",
        b"n,,\x01auth=Bearer a.b.c\x01noequals\x01\x01",
        b"y,,\x01auth=Bearer a.b.c\x01\x01",
        b"p=tls,,\x01auth=Bearer a.b.c\x01\x01",
        b"n,,\x01auth=Bearer \xff\x01\x01",
        b"\x01",
    ],
)
def test_a_message_that_is_none(message: bytes) -> None:
    with pytest.raises(LoginRefused):
        parse_bearer(message)


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_else_than_be_refused(message: bytes) -> None:
    with pytest.raises(LoginRefused):
        parse_bearer(b"n,," + message)


def claimed(now: float = NOW, acts_as: str = "", rules: ClaimRules = RULES, **changes: object):
    claims = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return check_claims(claims, rules, int(now * 1000), acts_as)


def test_a_good_token_is_good_until_it_expires() -> None:
    assert claimed() == ("al", 60_000)
    assert claimed(aud=["other", "kafka"], nbf=NOW + 20, acts_as="al", scope="a b") == ("al", 60_000)
    assert claimed(exp=NOW + 1.5) == ("al", 1_500)


def test_clocks_may_be_a_little_apart() -> None:
    assert claimed(NOW + 60 + 29) == ("al", 1_000)
    assert claimed(NOW - 40) == ("al", 100_000)
    with pytest.raises(LoginRefused, match="expired"):
        claimed(NOW + 60 + 30)
    with pytest.raises(LoginRefused, match="future"):
        claimed(NOW - 41)


def test_the_user_may_stand_in_another_claim() -> None:
    rules = RULES._replace(name_claim="client_id")
    assert claimed(rules=rules, client_id="app").user == "app"
    with pytest.raises(LoginRefused, match="client_id"):
        claimed(rules=rules)
    with pytest.raises(LoginRefused, match="sub"):
        claimed(rules=rules, client_id="app", sub=None)


@pytest.mark.parametrize("name", ["sub", "iss", "aud", "iat", "exp"])
def test_what_a_token_must_claim(name: str) -> None:
    with pytest.raises(LoginRefused):
        claimed(**{name: None})


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://issuer/"},
        {"iss": "HTTPS://ISSUER"},
        {"iss": ["https://issuer"]},
        {"aud": "head"},
        {"aud": []},
        {"aud": [["headrace"]]},
        {"aud": {"headrace": 1}},
        {"exp": NOW - 30},
        {"exp": True},
        {"exp": "9999999999"},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"iat": NOW + 31},
        {"iat": NOW + 61, "exp": NOW + 60},
        {"nbf": NOW + 31},
        {"nbf": "soon"},
        {"sub": ""},
        {"sub": " "},
        {"sub": 7},
        {"scope": 7},
        {"scope": [7]},
        {"acts_as": "bo"},
    ],
)
def test_a_token_that_breaks_a_rule(changes: dict[str, object]) -> None:
    with pytest.raises(LoginRefused):
        claimed(**changes)
