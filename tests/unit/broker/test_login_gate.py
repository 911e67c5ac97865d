"""The gate before a listener that asks for a login, driven by hand on virtual time."""

import struct

import pytest
import scramp
from login_entrance import FRAME_BYTES_MAX, LOGIN_SECONDS, REFUSAL_SECONDS, Entrance, Visitor, again

from headrace.broker.security.gate import STRANGERS_BYTES_MAX
from headrace.broker.security.rights import ANONYMOUS
from headrace.security.credentials import SHA_256
from headrace.wire.codes import ErrorCode
from headrace.wire.frame import request_frame
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from headrace.wire.schema import Request

OPEN_APIS = (17, 18, 36)


@pytest.fixture
def entrance() -> Entrance:
    return Entrance()


@pytest.fixture
def visitor(entrance: Entrance) -> Visitor:
    return entrance.connect()


def bare_request(key: int, version: int) -> bytes:
    """A header and no body: whoever parses more of it breaks."""
    header = struct.pack(">hhih", key, version, 7, -1)
    return struct.pack(">i", len(header)) + header


EVERY_REQUEST = [(key, version) for key in range(100) for version in range(-1, 20)] + [(-1, 0), (32767, 32767)]


def test_nothing_but_a_login_is_even_parsed_before_one(entrance: Entrance) -> None:
    for key, version in EVERY_REQUEST:
        visitor = entrance.connect()
        if key not in OPEN_APIS:
            visitor.send(bare_request(key, version))
            assert visitor.is_closed and not visitor.wire.written, (key, version)
    assert entrance.served.keys == []


@pytest.mark.parametrize("handshake_version", [0, 1])
def test_nothing_but_a_login_is_even_parsed_amid_one(entrance: Entrance, handshake_version: int) -> None:
    for key, version in EVERY_REQUEST:
        visitor = entrance.connect()
        visitor.shake(version=handshake_version)
        if key not in OPEN_APIS or handshake_version == 0:
            visitor.send(bare_request(key, version))
            entrance.loop.pass_time(3 * REFUSAL_SECONDS)
            assert visitor.is_closed and not visitor.wire.written, (key, version)
    assert entrance.served.keys == []


def test_a_login_by_a_password(visitor: Visitor) -> None:
    shaken = visitor.shake()
    assert (shaken.error_code, shaken.mechanisms) == (0, ["PLAIN", SHA_256, "TOKEN", "OAUTHBEARER"])
    assert visitor.connection.principal == ANONYMOUS
    answered = visitor.answer(b"\0al\0right")
    assert (answered.error_code, answered.auth_bytes, answered.session_lifetime_ms) == (0, b"", 0)
    assert visitor.connection.principal == "User:al"
    assert visitor.is_served()
    assert (visitor.entrance.probes.logins, visitor.entrance.probes.logins_refused) == (1, 0)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_each_version_of_a_login(version: int) -> None:
    visitor = Entrance(5000).connect()
    visitor.shake()
    answered = visitor.answer(b"\0al\0right", version)
    assert (answered.error_code, answered.session_lifetime_ms) == (0, 5000 if version else 0)
    assert visitor.is_served()


def test_a_login_by_scram(visitor: Visitor) -> None:
    client = scramp.ScramClient([SHA_256], "bo", "right")
    visitor.shake(SHA_256)
    client.set_server_first(bytes(visitor.answer(client.get_client_first().encode()).auth_bytes).decode())
    assert not visitor.is_closed and visitor.connection.principal == ANONYMOUS
    client.set_server_final(bytes(visitor.answer(client.get_client_final().encode()).auth_bytes).decode())
    assert visitor.connection.principal == "User:bo" and visitor.is_served()


def test_a_login_without_headers(visitor: Visitor) -> None:
    assert visitor.shake(version=0).error_code == 0
    visitor.send(struct.pack(">i", 9) + b"\0al\0right")
    assert visitor.wire.written == struct.pack(">i", 0)
    visitor.wire.written = b""
    assert visitor.connection.principal == "User:al" and visitor.is_served()


def test_a_wrong_password_is_told_after_a_moment_and_the_end(visitor: Visitor) -> None:
    assert visitor.log_in(token=b"\0al\0wrong") is None
    visitor.entrance.loop.pass_time(REFUSAL_SECONDS / 2)
    assert not visitor.is_closed and not visitor.wire.written
    visitor.entrance.loop.pass_time(REFUSAL_SECONDS)
    told = visitor.reply_to(36, 2)
    assert told.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "al" not in told.error_message.split()
    assert (visitor.entrance.probes.logins, visitor.entrance.probes.logins_refused) == (0, 1)
    # Clients that see answer and end at once lose the answer.
    assert not visitor.is_closed
    visitor.entrance.loop.pass_time(REFUSAL_SECONDS)
    assert visitor.is_closed


def test_a_wrong_password_and_an_unknown_user_are_told_alike(entrance: Entrance) -> None:
    told = []
    for token in (b"\0al\0wrong", b"\0nobody\0right"):
        visitor = entrance.connect()
        visitor.log_in(token=token)
        entrance.loop.pass_time(3 * REFUSAL_SECONDS)
        told.append(visitor.reply_to(36, 2).error_message)
    assert told[0] == told[1]


def test_a_wrong_password_without_headers_ends_the_connection(visitor: Visitor) -> None:
    visitor.shake(version=0)
    visitor.send(struct.pack(">i", 9) + b"\0al\0wrong")
    visitor.entrance.loop.pass_time(3 * REFUSAL_SECONDS)
    assert visitor.is_closed and visitor.wire.written == b""


def test_requests_behind_a_login_wait_for_it(visitor: Visitor) -> None:
    """A client that does not wait for the answer is served once it is logged in, and never when it is not."""
    metadata = b"".join(request_frame(MetadataRequest(), 12, 8, "test"))
    for password, served in ((b"wrong", []), (b"right", [3])):
        visitor = visitor.entrance.connect()
        visitor.shake()
        token = b"".join(request_frame(SaslAuthenticateRequest(b"\0al\0" + password), 2, 7, "test"))
        visitor.send(token + metadata)
        visitor.entrance.loop.pass_time(3 * REFUSAL_SECONDS)
        assert visitor.entrance.served.keys == served


def test_a_mechanism_that_is_not_offered(visitor: Visitor) -> None:
    assert visitor.shake("GSSAPI") is None
    visitor.entrance.loop.pass_time(3 * REFUSAL_SECONDS)
    told = visitor.reply_to(17, 1)
    assert (told.error_code, told.mechanisms) == (
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ["PLAIN", SHA_256, "TOKEN", "OAUTHBEARER"],
    )
    assert visitor.is_closed


@pytest.mark.parametrize("request_", [SaslHandshakeRequest("PLAIN"), ApiVersionsRequest("test", "1")])
def test_another_request_amid_a_login_is_told_its_state(visitor: Visitor, request_: Request) -> None:
    visitor.shake(SHA_256)
    version = 1 if request_.API_KEY == 17 else 3
    visitor.ask(request_, version)
    visitor.entrance.loop.pass_time(3 * REFUSAL_SECONDS)
    assert visitor.reply_to(request_.API_KEY, version).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert visitor.is_closed and visitor.entrance.served.keys == []


def test_api_versions_once_and_first(visitor: Visitor) -> None:
    visitor.send(b"".join(request_frame(ApiVersionsRequest("test", "1"), 3, 7, "test")))
    assert visitor.entrance.served.keys == [18]
    visitor.send(b"".join(request_frame(ApiVersionsRequest("test", "1"), 3, 8, "test")))
    assert visitor.is_closed and visitor.entrance.served.keys == [18]


def test_api_versions_again_after_an_unknown_version(visitor: Visitor) -> None:
    visitor.send(bare_request(18, 99))
    visitor.send(b"".join(request_frame(ApiVersionsRequest("test", "1"), 3, 8, "test")))
    assert visitor.entrance.served.keys == [18, 18] and not visitor.is_closed


@pytest.mark.parametrize(("key", "version"), [(17, 2), (17, -1), (36, 3)])
def test_versions_that_are_not_there(visitor: Visitor, key: int, version: int) -> None:
    visitor.send(bare_request(key, version))
    assert visitor.is_closed


def test_a_message_without_a_beginning(visitor: Visitor) -> None:
    assert visitor.answer(b"\0al\0right") is None
    assert visitor.is_closed and visitor.connection.principal == ANONYMOUS


def test_frames_before_a_login_are_small(visitor: Visitor) -> None:
    visitor.send(struct.pack(">i", FRAME_BYTES_MAX + 1))
    assert visitor.is_closed
    inside = visitor.entrance.connect()
    inside.log_in()
    inside.send(struct.pack(">i", FRAME_BYTES_MAX + 1))
    assert not inside.is_closed


@pytest.mark.parametrize("far", [0, 1])
def test_who_does_not_log_in_is_cut_off(visitor: Visitor, far: int) -> None:
    if far:
        visitor.shake()
    visitor.entrance.loop.pass_time(LOGIN_SECONDS - 1)
    visitor.entrance.listener.sweep()
    assert not visitor.is_closed
    visitor.entrance.loop.pass_time(2)
    visitor.entrance.listener.sweep()
    assert visitor.is_closed


def test_who_has_logged_in_stays(visitor: Visitor) -> None:
    visitor.log_in()
    visitor.entrance.loop.pass_time(2 * LOGIN_SECONDS)
    visitor.entrance.listener.sweep()
    assert not visitor.is_closed and visitor.is_served()


# -- sessions --------------------------------------------------------------------------------------------------------


def test_where_no_login_ends_no_request_is_looked_at_twice(visitor: Visitor) -> None:
    visitor.log_in()
    assert visitor.connection.dispatcher is visitor.entrance.served


@pytest.mark.parametrize(
    ("session_ms", "token_ms", "lifetime_ms"), [(0, 5000, 5000), (3000, 5000, 3000), (9000, 5000, 5000)]
)
def test_a_login_is_good_until_the_earlier_end(session_ms: int, token_ms: int, lifetime_ms: int) -> None:
    visitor = Entrance(session_ms).connect()
    assert visitor.log_in("TOKEN", b"al,%d" % token_ms).session_lifetime_ms == lifetime_ms
    visitor.entrance.loop.pass_time(lifetime_ms / 1000 - 0.1)
    assert visitor.is_served()
    visitor.entrance.loop.pass_time(0.2)
    # No timer ends it, the next request does.
    assert not visitor.is_closed
    assert not visitor.is_served() and visitor.is_closed


def test_every_request_after_the_end_of_a_login_closes_the_connection() -> None:
    entrance = Entrance(1000)
    for key in range(100):
        visitor = entrance.connect()
        visitor.log_in()
        if key != 17:
            entrance.loop.pass_time(1.1)
            visitor.send(bare_request(key, 0))
            assert visitor.is_closed, key
    assert entrance.served.keys == []


@pytest.mark.parametrize("late", [False, True])
def test_logging_in_again_prolongs_it(late: bool) -> None:
    visitor = Entrance(5000).connect()
    visitor.log_in()
    for _ in range(3):
        visitor.entrance.loop.pass_time(5.5 if late else 4.0)
        assert again(visitor).error_code == 0
        assert visitor.answer(b"\0al\0right").session_lifetime_ms == 5000
        assert visitor.is_served()


def test_the_gate_stands_again_while_somebody_logs_in_again() -> None:
    visitor = Entrance(5000).connect()
    visitor.log_in()
    again(visitor)
    assert not visitor.is_served() and visitor.is_closed


@pytest.mark.parametrize(
    ("mechanism", "token"), [("PLAIN", b"\0bo\0right"), ("PLAIN", b"\0al\0wrong"), ("TOKEN", b"al,5000"), ("NONE", b"")]
)
def test_another_user_mechanism_or_password_ends_it(mechanism: str, token: bytes) -> None:
    visitor = Entrance(5000).connect()
    visitor.log_in()
    if again(visitor, mechanism).error_code == 0:
        visitor.answer(token)
    visitor.entrance.loop.pass_time(3 * REFUSAL_SECONDS)
    assert visitor.is_closed and visitor.connection.principal == "User:al"


def test_logging_in_again_at_most_once_a_second() -> None:
    visitor = Entrance(5000).connect()
    visitor.log_in()
    assert again(visitor).error_code == 0
    visitor.answer(b"\0al\0right")
    assert again(visitor).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert visitor.is_served()
    visitor.entrance.loop.pass_time(1.1)
    assert again(visitor, version=0).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert again(visitor).error_code == 0


def test_a_crowd_at_the_gate_is_cut_off_and_nothing_of_it_is_left(entrance: Entrance) -> None:
    inside = entrance.connect()
    inside.log_in()
    crowd = [entrance.connect() for _ in range(10_000)]
    for visitor in crowd[::2]:
        visitor.send(struct.pack(">i", FRAME_BYTES_MAX) + b"x" * 4000)
        visitor.send(b"x" * 20_000)
    # Their buffers are not those that users wait for.
    assert entrance.listener.budget.used == 0
    assert STRANGERS_BYTES_MAX // 2 < entrance.listener.gates.budget.used <= STRANGERS_BYTES_MAX + FRAME_BYTES_MAX
    inside.send(struct.pack(">i", 1 << 20) + b"x" * 4000)
    inside.send(b"x" * 4000)
    assert entrance.listener.budget.used > 0 and not inside.wire.is_paused
    entrance.served.keys.clear()
    inside = entrance.connect()
    inside.log_in()
    assert inside.is_served()
    entrance.loop.pass_time(LOGIN_SECONDS + 1)
    entrance.listener.sweep()
    assert all(visitor.is_closed for visitor in crowd) and not inside.is_closed
    for visitor in crowd:
        visitor.connection.connection_lost(None)
    assert inside.connection in entrance.listener.connections and len(entrance.listener.connections) <= 2
    assert entrance.listener.gates.budget.used == 0
    assert inside.is_served()
