"""Credentials as HTTP carries them, and how each logs in at a broker."""

import base64

import pytest

from headrace.base.errors import UserError
from headrace.client.security import Sasl
from headrace.gateway.broker_login import Trust
from headrace.gateway.callers.credential import (
    CREDENTIAL_LENGTH_MAX,
    Credential,
    parse_authorization,
    with_login,
    without_login,
)
from headrace.security.scoped_tokens import whole_token


def basic(text: str) -> bytes:
    return b"Basic " + base64.b64encode(text.encode())


def jwt(text: str) -> str:
    return f"e30.{base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}.x"


@pytest.mark.parametrize(
    ("credential", "holder"),
    [
        (Credential("al", "secret"), "al"),
        (Credential("", jwt('{"iss": "i", "sub": "al"}')), "i al"),
        (Credential("", "opaque"), "opaque"),
        (Credential("", jwt("[1]")), jwt("[1]")),
        (Credential("any", whole_token("t-1", b"key").text), "hrt1.t-1"),
        (Credential(whole_token("t-1", b"key").name, "signature"), "hrt1.t-1"),
        (Credential("", "hrt1.\u0000.."), "hrt1.None"),
        (Credential("", jwt("[" * 100_000)), jwt("[" * 100_000)),
    ],
)
def test_whose_it_is(credential, holder):
    assert credential.holder == holder


@pytest.mark.parametrize(
    ("header", "credential"),
    [
        (basic("al:secret"), Credential("al", "secret")),
        (basic("al:se:cret"), Credential("al", "se:cret")),
        (basic("ä:ö").lower()[:6] + basic("ä:ö")[6:], Credential("ä", "ö")),
        (b"Bearer abc.def", Credential("", "abc.def")),
        (b"bearer  abc", Credential("", "abc")),
    ],
)
def test_basic_and_bearer(header, credential):
    assert parse_authorization(header) == credential


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"Basic",
        b"Basic !!",
        b"Basic " + base64.b64encode(b"\xff:x"),
        basic("al"),
        basic("al:"),
        basic(":secret"),
        basic("al:se\0cret"),
        basic("a\0l:secret"),
        b"Bearer",
        b"Bearer a b",
        b"Bearer a\x01auth=x",
        "Bearer ä".encode(),
        b"Negotiate abc",
        b"Bearer " + b"a" * (CREDENTIAL_LENGTH_MAX + 1),
    ],
)
def test_what_is_no_credential(header):
    assert parse_authorization(header) is None


def test_a_credential_is_not_shown():
    assert "secret" not in repr(Credential("al", "secret")) + str(Credential("", "secret"))


def test_each_kind_logs_in_by_its_mechanism():
    assert Credential("al", "x").sasl("SCRAM-SHA-256") == Sasl("SCRAM-SHA-256", "al", "x")
    assert Credential("", "hrt1.x.y").sasl("SCRAM-SHA-256") == Sasl("SCRAM-SHA-256", "hrt1.x", "y")
    assert Credential("", "hrt1.x.y").sasl("PLAIN") == Sasl("PLAIN", "token", "hrt1.x.y")
    assert Credential("", "hrt1.x.y").sasl("OAUTHBEARER") == Sasl("OAUTHBEARER", "", "hrt1.x.y")
    assert Credential("", "eyJ.x").sasl("SCRAM-SHA-256") == Sasl("OAUTHBEARER", "", "eyJ.x")


def test_the_gateways_own_name_and_password_are_nobodys():
    options = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "admin",
        "sasl.password": "secret",
        "sasl.jaas.config": "secret",
        "sasl.oauthbearer.client.secret": "secret",
        "ssl.ca.location": "ca.pem",
    }
    trusted = without_login(options)
    assert "secret" not in trusted.values() and trusted["ssl.ca.location"] == "ca.pem"
    told = with_login(trusted, Sasl("SCRAM-SHA-512", "al", "x"))
    assert told["sasl.mechanism"] == "SCRAM-SHA-512" and "sasl.mechanisms" not in told
    assert (told["sasl.username"], told["sasl.password"]) == ("al", "x")
    assert with_login(trusted, Sasl("OAUTHBEARER", "", "eyJ"))["oauth_cb"]("")[0] == "eyJ"


def test_a_mechanism_that_callers_cannot_use_is_told_at_the_start():
    for mechanism in ("", "GSSAPI"):
        with pytest.raises(UserError, match=r"sasl\.mechanism"):
            Trust({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism})
