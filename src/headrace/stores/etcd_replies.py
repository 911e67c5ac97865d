"""The answers of etcd's JSON gateway, told apart: a reply, a member that cannot answer now, a refusal that is final."""

import json
from typing import Any, Final

from headrace.base.errors import StoreUnreachable

Json = dict[str, Any]

CANCELLED, UNKNOWN, INVALID_ARGUMENT, TIMED_OUT, NOT_FOUND = 1, 2, 3, 4, 5
PERMISSION_DENIED, EXHAUSTED, FAILED_PRECONDITION, OUT_OF_RANGE = 7, 8, 9, 11
INTERNAL, UNAVAILABLE, UNAUTHENTICATED = 13, 14, 16
"""gRPC's status codes."""

_PASSING: Final = {CANCELLED, UNKNOWN, TIMED_OUT, INTERNAL, UNAVAILABLE}
_OLD_TOKEN: Final = "revision of auth store is old"
_TOO_BUSY: Final = "too many requests"
_FOREIGN: Final = "answers, but not like etcd's v3 gateway"


class Refusal(StoreUnreachable):
    """A refusal by etcd that another member would repeat."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"etcd refused: {message}")
        self.code = code
        self.message = message


class EtcdBusy(Exception):
    """A member of etcd that cannot answer at the moment."""


class TokenExpired(EtcdBusy):
    """An expired token: authenticate again."""


def read_reply(body: bytes) -> Json:
    """The reply in a body; one that comes wrapped, as a stream of one message, is unwrapped."""
    reply = _object(body, 200)
    if "error" in reply:
        raise EtcdBusy(str(reply["error"]))
    result: Json = reply.get("result", reply)
    return result


def read_error(status: int, body: bytes) -> Exception:
    try:
        reply = _object(body, status)
        code, message = int(reply["code"]), str(reply["message"])
    except (EtcdBusy, KeyError, TypeError, ValueError):
        return EtcdBusy(f"{_FOREIGN}: HTTP {status}")
    if code == UNAUTHENTICATED or _OLD_TOKEN in message:
        return TokenExpired(message)
    if code in _PASSING or _TOO_BUSY in message:
        return EtcdBusy(message)
    return Refusal(code, message)


def _object(body: bytes, status: int) -> Json:
    try:
        reply = json.loads(body)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise EtcdBusy(f"{_FOREIGN}: HTTP {status}")
    return reply
