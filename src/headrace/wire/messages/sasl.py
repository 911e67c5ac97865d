"""SaslHandshake and SaslAuthenticate."""

from headrace.wire.schema import Request, Response, array, binary, int16, int64, string


class SaslHandshakeRequest(Request, key=17, versions="0-1", flexible=None):
    mechanism: str = string()


class SaslHandshakeResponse(Response, to=SaslHandshakeRequest):
    error_code: int = int16()
    mechanisms: list[str] = array(string)


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible=2):
    auth_bytes: bytes = binary()


class SaslAuthenticateResponse(Response, to=SaslAuthenticateRequest):
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    auth_bytes: bytes = binary()
    session_lifetime_ms: int = int64(versions="1+")
