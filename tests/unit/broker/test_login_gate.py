"""The gate before a listener that asks for a login, driven by hand on virtual time."""

import struct
from typing import Any

import pytest
import scramp

from headrace.base.probe import Probes
from headrace.broker.net.budget import Budget
from headrace.broker.net.connection_limits import ConnectionCount, connection_limits
from headrace.broker.net.descriptors import Descriptors
from headrace.broker.net.listener import Connection, Listener
from headrace.broker.security.gate import STRANGERS_BYTES_MAX, GateSettings, LoginGates
from headrace.broker.security.login_work import LoginWork
from headrace.broker.security.mechanisms import Login, PlainExchange, ScramExchange, ServerMessage
from headrace.broker.security.rights import ANONYMOUS
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import User
from headrace.cluster.listeners import PlannedListener
from headrace.security.credentials import SHA_256, Credentials, credential_from, salted_password
from headrace.security.refusal import LoginRefused
from headrace.wire.apis import APIS
from headrace.wire.codec import decode
from headrace.wire.codes import ErrorCode
from headrace.wire.frame import parse_response_header, request_frame
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from headrace.wire.schema import Request
from quiet_loop import QuietLoop, Wire

OPEN_APIS = (17, 18, 36)
LOGIN_SECONDS = 20.0
FRAME_BYTES_MAX = 65536
REFUSAL_SECONDS = 0.1
SALT = b"a salt of some bytes"


class Served:
    """The listener's dispatcher: remembers what came through the gate."""

    def __init__(self) -> None:
        self.keys: list[int] = []

    def dispatch(self, connection: Connection, frame: memoryview) -> None:
        self.keys.append(int.from_bytes(frame[:2], "big"))
        connection.reply([struct.pack(">i", 4) + frame[4:8]])


class TokenExchange:
    """Stands for a mechanism whose logins have an end: `USER,MILLISECONDS`."""

    async def answer(self, token: bytes) -> ServerMessage:
        user, _, lifetime = token.decode().partition(",")
        if not lifetime:
            raise LoginRefused(f"user {user} has no token")
        return ServerMessage(b"", Login(user, int(lifetime)))


class Entrance:
    """A listener without an address that asks for a login."""

    def __init__(self, session_ms_max: int = 0) -> None:
        self.loop = QuietLoop()
        self.served = Served()
        self.probes = Probes()
        self.listener = Listener(
            plan=PlannedListener("OUT", "SASL_PLAINTEXT", "", 0, None),
            loop=self.loop,
            dispatcher=self.served,
            probes=self.probes,
            readers=None,
            frame_bytes_max=100 << 20,
            budget=Budget(128 << 20),
            count=ConnectionCount(Descriptors(100_000)),
            limits=connection_limits(BrokerConfig(), "OUT"),
            on_disk_failed=lambda error: None,
        )
        salted = salted_password(SHA_256, "right", SALT, 4096)
        users = {name: User({SHA_256: credential_from(SHA_256, salted, SALT, 4096)}) for name in ("al", "bo")}
        known, work = Credentials(users, b"secret"), LoginWork(self.loop)
        mechanisms = {
            "PLAIN": lambda: PlainExchange(lambda: known, work),
            SHA_256: lambda: ScramExchange(SHA_256, lambda: known, "ours"),
            "TOKEN": TokenExchange,
        }
        settings = GateSettings(
            LOGIN_SECONDS, FRAME_BYTES_MAX, REFUSAL_SECONDS, dict.fromkeys(mechanisms, session_ms_max)
        )
        self.listener.gates = LoginGates(self.served, mechanisms, settings, self.probes, self.loop)

    def connect(self) -> "Visitor":
        return Visitor(self)


class Visitor:
    def __init__(self, entrance: Entrance) -> None:
        self.entrance = entrance
        self.connection, self.wire = Connection(entrance.listener), Wire()
        self.connection.connection_made(self.wire)

    def send(self, content: bytes) -> None:
        while content and not self.wire.is_paused and not self.is_closed:
            buffer = self.connection.get_buffer(-1)
            piece, content = content[: len(buffer)], content[len(buffer) :]
            buffer[: len(piece)] = piece
            self.connection.buffer_updated(len(piece))
        self.entrance.loop.run_ready()

    def ask(self, request: Request, version: int) -> Any:
        """The reply, or None when there is none yet."""
        self.send(b"".join(request_frame(request, version, 7, "test")))
        return self.reply_to(request.API_KEY, version)

    def reply_to(self, key: int, version: int) -> Any:
        frame, self.wire.written = self.wire.written[4:], b""
        if not frame:
            return None
        _, position = parse_response_header(APIS[key], version, frame)
        return decode(APIS[key].response, version, frame, position)

    def shake(self, mechanism: str = "PLAIN", version: int = 1) -> Any:
        return self.ask(SaslHandshakeRequest(mechanism), version)

    def answer(self, token: bytes, version: int = 2) -> Any:
        return self.ask(SaslAuthenticateRequest(token), version)

    def log_in(self, mechanism: str = "PLAIN", token: bytes = b"\0al\0right") -> Any:
        assert self.shake(mechanism).error_code == 0
        return self.answer(token)

    @property
    def is_closed(self) -> bool:
        return self.wire.is_aborted

    def is_served(self) -> bool:
        self.send(b"".join(request_frame(MetadataRequest(), 12, 7, "test")))
        self.wire.written = b""
        return bool(self.entrance.served.keys) and self.entrance.served.keys.pop() == 3


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
    assert (shaken.error_code, shaken.mechanisms) == (0, ["PLAIN", SHA_256, "TOKEN"])
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
        ["PLAIN", SHA_256, "TOKEN"],
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


def again(visitor: Visitor, mechanism: str = "PLAIN", version: int = 1) -> Any:
    """The answer to SaslHandshake of a client that is logged in; the broker's handler would send it."""
    session = visitor.connection.dispatcher
    return session.log_in_again(visitor.connection, mechanism, version)


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
