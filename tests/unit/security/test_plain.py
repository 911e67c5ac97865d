"""PLAIN: three parts, nobody acts as somebody else, and a password that fits."""

import pytest

from headrace.cluster.entities import User
from headrace.security.credentials import (
    SHA_256,
    SHA_512,
    Credentials,
    credential_from,
    is_password_of,
    salted_password,
)
from headrace.security.plain import parse_plain
from headrace.security.refusal import LoginRefused


@pytest.mark.parametrize("token", [b"\0al\0secret", b"al\0al\0secret"])
def test_a_user_and_a_password(token: bytes) -> None:
    assert parse_plain(token) == ("al", "secret")


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"al",
        b"al\0secret",
        b"\0\0secret",
        b"\0al\0",
        b"bo\0al\0secret",
        b"\0al\0secret\0",
        b"\0al\0sec\0ret",
        b"\0\0al\0secret",
        b"al\0\0secret",
        b"\0\xff\0secret",
        b" al\0al\0secret",
    ],
)
def test_what_is_no_user_and_password(token: bytes) -> None:
    with pytest.raises(LoginRefused):
        parse_plain(token)


def user(*mechanisms: str, password: str = "right") -> User:
    salted = {each: salted_password(each, password, b"salt", 4096) for each in mechanisms}
    return User({each: credential_from(each, salted[each], b"salt", 4096) for each in mechanisms})


@pytest.mark.parametrize("mechanisms", [(SHA_256,), (SHA_512,), (SHA_256, SHA_512)])
def test_a_password_is_compared_with_whatever_credential_there_is(mechanisms: tuple[str, ...]) -> None:
    credentials = Credentials({"al": user(*mechanisms), "other": user(SHA_256)}, b"secret")
    mechanism, credential = credentials.for_password("al")
    assert mechanism == mechanisms[-1]
    assert is_password_of(credential, mechanism, "right")
    assert not is_password_of(credential, mechanism, "wrong")


def test_an_unknown_user_costs_as_much_work_and_has_no_password() -> None:
    credentials = Credentials({"al": user(SHA_256)}, b"secret")
    mechanism, credential = credentials.for_password("nobody")
    assert (mechanism, credential.iterations) == (SHA_256, 4096)
    assert not is_password_of(credential, mechanism, "right")
    assert credentials.for_password("nobody") == (mechanism, credential)
    # Before there are users too.
    mechanism, credential = Credentials({}, b"secret").for_password("nobody")
    assert not is_password_of(credential, mechanism, "")


def test_what_a_credential_holds_is_not_shown() -> None:
    shown = f"{user(SHA_256)!r} {Credentials({'al': user(SHA_256)}, b'secret').of('al', SHA_256)}"
    assert "salt" not in shown and "b'" not in shown
