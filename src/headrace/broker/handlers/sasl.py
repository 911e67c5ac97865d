"""SaslHandshake and SaslAuthenticate of a client that is logged in, or that nobody asks for a login.

The first login is the gate's (`broker/security/gate.py`), and so is every message of a later one.
"""

from headrace.broker.net.dispatch import Request
from headrace.broker.security.gate import LoginSession
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

_NO_LOGIN = "no login has begun on this connection"


def handle_sasl_handshake(request: Request) -> SaslHandshakeResponse:
    """Begins the next login where logins end; else there is nothing to begin."""
    session = request.connection.dispatcher
    if isinstance(session, LoginSession):
        return session.log_in_again(request.connection, request.body.mechanism, request.version)
    return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, [])


def handle_sasl_authenticate(request: Request) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(ErrorCode.ILLEGAL_SASL_STATE, _NO_LOGIN)
