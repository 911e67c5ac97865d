"""A listener that asks for a login, on virtual time, and visitors who try."""

import struct
from typing import Any

from headrace.base.clock import Now
from headrace.base.probe import Probes
from headrace.broker.net.budget import Budget
from headrace.broker.net.connection import Connection
from headrace.broker.net.connection_limits import ConnectionCount, connection_limits
from headrace.broker.net.descriptors import Descriptors
from headrace.broker.net.listener import Listener, Shared
from headrace.broker.security.gate import GateSettings, LoginGates
from headrace.broker.security.login import Login
from headrace.broker.security.mechanisms import OauthbearerExchange, PlainExchange, ScramExchange, ServerMessage
from headrace.broker.security.token_logins import TokenLogins
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Secret, User
from headrace.cluster.image import Image
from headrace.cluster.listeners import PlannedListener
from headrace.identity.login_work import LoginWork
from headrace.security.credentials import SHA_256, Credentials, credential_from, salted_password
from headrace.security.refusal import LoginRefused
from headrace.security.scoped_tokens import Caveat, narrowed, whole_token
from headrace.security.tokens import TOKENS, TokenLimits, TokenRequest, key_of, new_token
from headrace.wire.apis import APIS
from headrace.wire.codec import decode
from headrace.wire.frame import parse_response_header, request_frame
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from headrace.wire.schema import Request
from quiet_loop import QuietLoop, Wire

LOGIN_SECONDS = 20.0
FRAME_BYTES_MAX = 65536
REFUSAL_SECONDS = 0.1
SALT = b"a salt of some bytes"
TOKEN_SECRET = b"t" * 32


class Served:
    """The listener's dispatcher: remembers what came through the gate."""

    def __init__(self) -> None:
        self.keys: list[int] = []

    def dispatch(self, connection: Connection, frame: memoryview) -> None:
        self.keys.append(int.from_bytes(frame[:2], "big"))
        connection.requests.reply([struct.pack(">i", 4) + frame[4:8]])


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
        count = ConnectionCount(Descriptors(100_000))
        shared = Shared(self.loop, self.served, self.probes, None, lambda error: None, count, 100 << 20)
        plan, limits = PlannedListener("OUT", "SASL_PLAINTEXT", "", 0, None), connection_limits(BrokerConfig(), "OUT")
        self.listener = Listener(plan, shared, Budget(128 << 20), limits)
        salted = salted_password(SHA_256, "right", SALT, 4096)
        users = {name: User({SHA_256: credential_from(SHA_256, salted, SALT, 4096)}) for name in ("al", "bo")}
        known, work = Credentials(users, b"secret"), LoginWork(self.loop)
        self.image = Image(secrets={TOKENS: Secret(TOKEN_SECRET)})
        self.wall_ms = 1_000_000
        tokens = TokenLogins(lambda: self.image, self)
        mechanisms = {
            "PLAIN": lambda: PlainExchange(lambda: known, tokens, work),
            SHA_256: lambda: ScramExchange(SHA_256, lambda: known, tokens, work, "ours"),
            "TOKEN": TokenExchange,
            "OAUTHBEARER": lambda: OauthbearerExchange(None, tokens),
        }
        settings = GateSettings(
            LOGIN_SECONDS, FRAME_BYTES_MAX, REFUSAL_SECONDS, dict.fromkeys(mechanisms, session_ms_max)
        )
        self.listener.gates = LoginGates(self.served, mechanisms, settings, self.probes, self.loop)

    def now(self) -> Now:
        return Now(self.loop.time(), self.wall_ms)

    def token(self, owner: str = "User:al", *caveats: Caveat) -> str:
        """A scoped token of this user, good for ten seconds."""
        asked, limits = TokenRequest(owner, owner), TokenLimits(10_000, 10_000)
        made = new_token(f"t{len(self.image.tokens)}", asked, TOKEN_SECRET, self.wall_ms, limits)
        self.image = self.image._replace(tokens={**self.image.tokens, made.id: made})
        return narrowed(whole_token(made.id, key_of(TOKEN_SECRET, made.id)), caveats).text

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


def again(visitor: Visitor, mechanism: str = "PLAIN", version: int = 1) -> Any:
    """The answer to SaslHandshake of a client that is logged in; the broker's handler would send it."""
    session = visitor.connection.dispatcher
    return session.log_in_again(visitor.connection, mechanism, version)
