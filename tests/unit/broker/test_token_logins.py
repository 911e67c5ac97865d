"""Logins by tokens, at the gate of a listener and on virtual time."""

import pytest
import scramp
from login_entrance import REFUSAL_SECONDS, TOKEN_SECRET, Entrance, Visitor, again

from headrace.broker.security.rights import ANONYMOUS
from headrace.security.credentials import SHA_256
from headrace.security.operations import Operation
from headrace.security.revocation import with_revoked
from headrace.security.scoped_tokens import Caveat, narrowed, parse_name, parse_token, whole_token
from headrace.security.tokens import key_of, password_of
from headrace.wire.codes import ErrorCode
from headrace.wire.frame import request_frame
from headrace.wire.messages.sasl import SaslAuthenticateRequest


@pytest.fixture
def entrance() -> Entrance:
    return Entrance()


@pytest.fixture
def visitor(entrance: Entrance) -> Visitor:
    return entrance.connect()


READ_ORDERS: Caveat = {"may": ["read topic orders"]}


def test_a_login_by_a_token_is_its_owners_within_its_scope(visitor: Visitor) -> None:
    token = visitor.entrance.token("User:al", READ_ORDERS, {"until": visitor.entrance.wall_ms + 4_000})
    answered = visitor.log_in(token=f"\0anybody\0{token}".encode())
    assert (answered.error_code, answered.session_lifetime_ms) == (0, 4_000)
    connection = visitor.connection
    assert connection.principal == "User:al" and connection.rights.token_id == "t0"
    assert connection.rights.topic(Operation.READ, "orders") and not connection.rights.topic(Operation.WRITE, "orders")
    visitor.entrance.loop.pass_time(4.1)
    assert not visitor.is_served() and visitor.is_closed


def test_a_token_is_a_bearer_token(visitor: Visitor) -> None:
    message = f"n,,\x01auth=Bearer {visitor.entrance.token('User:bo', READ_ORDERS)}\x01\x01"
    assert visitor.log_in("OAUTHBEARER", message.encode()).error_code == 0
    assert visitor.connection.principal == "User:bo" and not visitor.connection.rights.is_unlimited


@pytest.mark.parametrize("acts_as", ["al", "bo"])
def test_a_bearer_acts_as_nobody_else(visitor: Visitor, acts_as: str) -> None:
    message = f"n,a={acts_as},\x01auth=Bearer {visitor.entrance.token('User:al')}\x01\x01"
    answered = visitor.log_in("OAUTHBEARER", message.encode())
    assert bytes(answered.auth_bytes) == (b"" if acts_as == "al" else b'{"status": "invalid_token"}')


def test_other_bearer_tokens_are_not_taken_where_scoped_ones_alone_are(visitor: Visitor) -> None:
    answered = visitor.log_in("OAUTHBEARER", b"n,,\x01auth=Bearer e30.e30.e30\x01\x01")
    assert bytes(answered.auth_bytes) == b'{"status": "invalid_token"}'
    assert visitor.connection.principal == ANONYMOUS


def scram(visitor: Visitor, user: str, password: str, extension: str = "") -> int:
    """The error of a login, 0 for none."""
    client = scramp.ScramClient([SHA_256], user, password)
    first = client.get_client_first() + extension
    visitor.shake(SHA_256)
    client.client_first_bare += extension
    client.set_server_first(bytes(visitor.answer(first.encode()).auth_bytes).decode())
    visitor.send(b"".join(request_frame(SaslAuthenticateRequest(client.get_client_final().encode()), 2, 7, "test")))
    visitor.entrance.loop.pass_time(2 * REFUSAL_SECONDS)
    code: int = visitor.reply_to(SaslAuthenticateRequest.API_KEY, 2).error_code
    return code


def test_a_delegation_token_logs_in_by_scram_as_kafkas_clients_do(visitor: Visitor) -> None:
    visitor.entrance.token("User:bo")
    assert scram(visitor, "t0", password_of(key_of(TOKEN_SECRET, "t0")), ",tokenauth=true") == 0
    assert visitor.connection.principal == "User:bo" and visitor.connection.rights.token_id == "t0"


def test_a_scoped_token_logs_in_by_scram(visitor: Visitor) -> None:
    name, _, signature = visitor.entrance.token("User:bo", READ_ORDERS).rpartition(".")
    assert scram(visitor, name, signature) == 0
    assert visitor.connection.principal == "User:bo"
    assert not visitor.connection.rights.topic(Operation.WRITE, "orders")


@pytest.mark.parametrize(("user", "password"), [("al", "right"), ("t9", None), ("t0", "wrong")])
def test_neither_users_nor_unknown_tokens_log_in_as_tokens(visitor: Visitor, user: str, password: str | None) -> None:
    visitor.entrance.token("User:bo")
    given = password or password_of(key_of(TOKEN_SECRET, user))
    assert scram(visitor, user, given, ",tokenauth=true") == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert visitor.is_closed


def refused(visitor: Visitor, token: str) -> bool:
    assert visitor.shake().error_code == 0
    return answered_with_refusal(visitor, token)


def answered_with_refusal(visitor: Visitor, token: str) -> bool:
    assert visitor.answer(f"\0al\0{token}".encode()) is None
    visitor.entrance.loop.pass_time(2 * REFUSAL_SECONDS)
    code = visitor.reply_to(SaslAuthenticateRequest.API_KEY, 2).error_code
    return visitor.is_closed and code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_revoked_token_lets_nobody_in(visitor: Visitor) -> None:
    token = visitor.entrance.token()
    visitor.entrance.image = visitor.entrance.image._replace(tokens={})
    assert refused(visitor, token)


def test_an_expired_token_lets_nobody_in(visitor: Visitor) -> None:
    token = visitor.entrance.token()
    visitor.entrance.wall_ms += 10_000
    assert refused(visitor, token)


@pytest.mark.parametrize("caveat", [{"until": 1_000_000}, {"from": ["10.9.0.0/16"]}], ids=["late", "elsewhere"])
def test_a_caveat_may_refuse_the_login(visitor: Visitor, caveat: Caveat) -> None:
    assert refused(visitor, visitor.entrance.token("User:al", caveat))


def test_a_token_without_its_caveats_or_of_another_cluster_lets_nobody_in(entrance: Entrance) -> None:
    token = parse_token(entrance.token("User:al", READ_ORDERS))
    assert refused(entrance.connect(), token._replace(caveats=()).text)
    assert refused(entrance.connect(), whole_token("t0", key_of(b"o" * 32, "t0")).text)
    assert refused(entrance.connect(), "hrt1.")


def test_a_client_that_logs_in_again_has_the_rights_of_its_last_token(visitor: Visitor) -> None:
    wide, narrow = visitor.entrance.token(), visitor.entrance.token("User:al", READ_ORDERS)
    visitor.log_in(token=f"\0al\0{wide}".encode())
    assert visitor.connection.rights.topic(Operation.WRITE, "orders")
    visitor.entrance.loop.pass_time(2.0)
    again(visitor)
    visitor.answer(f"\0al\0{narrow}".encode())
    assert visitor.is_served() and not visitor.connection.rights.topic(Operation.WRITE, "orders")
    visitor.entrance.loop.pass_time(2.0)
    again(visitor)
    visitor.answer(b"\0al\0right")
    assert visitor.is_served() and visitor.connection.rights.is_unlimited and not visitor.connection.rights.token_id


def test_a_token_of_somebody_else_ends_the_session(visitor: Visitor) -> None:
    visitor.log_in(token=f"\0al\0{visitor.entrance.token('User:al')}".encode())
    visitor.entrance.loop.pass_time(2.0)
    again(visitor)
    assert answered_with_refusal(visitor, visitor.entrance.token("User:bo"))


def test_a_token_in_the_place_of_a_name_is_not_logged(visitor: Visitor, caplog: pytest.LogCaptureFixture) -> None:
    token = visitor.entrance.token("User:al", READ_ORDERS)
    signature = token.rpartition(".")[2]
    for login in (f"\0{token}\0wrong", f"{token}\0al\0right"):
        other = visitor.entrance.connect()
        other.shake()
        other.answer(login.encode())
        other.entrance.loop.pass_time(2 * REFUSAL_SECONDS)
        assert other.is_closed
    assert scram(visitor, token, "wrong") == ErrorCode.SASL_AUTHENTICATION_FAILED
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert "a login is refused" in logged and "hrt1.***" in logged
    assert signature not in logged and token[5:30] not in logged


def revoke(entrance: Entrance, token: str) -> None:
    """Revokes a narrowed token alone."""
    name = parse_name(token.rpartition(".")[0])
    before = entrance.image.tokens[name.id]
    after = with_revoked(before, name, key_of(TOKEN_SECRET, name.id))
    entrance.image = entrance.image._replace(tokens={**entrance.image.tokens, name.id: after})


def further(token: str, *caveats: Caveat) -> str:
    return narrowed(parse_token(token), caveats).text


def logs_in(entrance: Entrance, token: str) -> tuple[bool, bool, bool]:
    """Whether it logs in by PLAIN, as a bearer token, and by SCRAM."""
    name, _, signature = token.rpartition(".")
    by_password, by_bearer = entrance.connect(), entrance.connect()
    by_password.log_in(token=f"\0anybody\0{token}".encode())
    by_bearer.log_in("OAUTHBEARER", f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    let_in = (by_password.connection.principal, by_bearer.connection.principal)
    return let_in[0] == "User:al", let_in[1] == "User:al", not scram(entrance.connect(), name, signature)


EVERY_WAY, NO_WAY = (True, True, True), (False, False, False)


def test_a_narrowed_token_is_revoked_alone_with_what_was_made_of_it(entrance: Entrance) -> None:
    wide = entrance.token("User:al", READ_ORDERS)
    narrow, sibling = further(wide, {"until": 1_009_000}), further(wide, {"until": 1_008_000})
    revoke(entrance, narrow)
    assert logs_in(entrance, narrow) == NO_WAY
    assert logs_in(entrance, further(narrow, {"from": ["10.0.0.0/8"]})) == NO_WAY
    assert logs_in(entrance, sibling) == logs_in(entrance, wide) == EVERY_WAY


def test_who_has_a_revoked_one_cannot_make_it_another(entrance: Entrance) -> None:
    """Without the caveat that was revoked, in another order, or written in another way the signature is another."""
    wide = entrance.token("User:al", READ_ORDERS)
    until: Caveat = {"until": 1_009_000}
    narrow = parse_token(further(wide, until))
    revoke(entrance, narrow.text)
    for caveats in ((READ_ORDERS,), (until, READ_ORDERS), (until,), ()):
        assert logs_in(entrance, narrow._replace(caveats=caveats).text) == NO_WAY
    head, _, signature = narrow.text.rpartition(".")
    assert logs_in(entrance, f"{head}=.{signature}") == NO_WAY


def test_what_is_kept_for_a_token_is_for_no_other_credential(entrance: Entrance) -> None:
    wide = entrance.token("User:al", READ_ORDERS)
    other, narrow = entrance.token("User:al", READ_ORDERS), further(wide, {"until": 1_009_000})
    credentials = []
    for password in (wide, wide, other, narrow, "right"):
        visitor = entrance.connect()
        visitor.log_in(token=f"\0al\0{password}".encode())
        assert visitor.connection.principal == "User:al"
        credentials.append(visitor.connection.credential)
    assert credentials[0] == credentials[1] and len(set(credentials)) == 4
