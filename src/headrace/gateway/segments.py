"""Paths are parted at slashes before they are decoded, so %2F is a character of a name and never leads to another path.

A server decodes first, and the framework looks for slashes in what comes out: a group "a/b" had no path, and one path had
many spellings. Here an escaped slash stays apart from others as a lone surrogate, which no text can contain, until
`name_in_path` makes it a slash again. Bytes that are no UTF-8 become such surrogates too, and are never a name.
"""

from typing import Annotated
from urllib.parse import quote, unquote

from pydantic import BeforeValidator
from starlette.types import ASGIApp, Receive, Scope, Send

# What `surrogateescape` would make of this byte, if it were none of ASCII.
_SLASH = "\udc2f"


class Segments:
    """An ASGI layer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if b"%" in raw:
            # The server keeps its own, which it writes to its log.
            scope = {**scope, "path": decode_path(raw.decode("ascii"))}
        await self._app(scope, receive, send)


def decode_path(raw: str) -> str:
    segments = (unquote(each, errors="surrogateescape").replace("/", _SLASH) for each in raw.split("/"))
    return "/".join(segments)


def is_plain(path: str) -> bool:
    """Whether it has no escaped slash, and nothing that is no UTF-8."""
    return not any("\ud800" <= each <= "\udfff" for each in path)


def name_in_path(segment: str) -> str:
    name = segment.replace(_SLASH, "/")
    if not is_plain(name):
        raise ValueError("a name in a path is UTF-8, percent-encoded")
    if "\0" in name:
        # C libraries would take what is before it for the name.
        raise ValueError("a name has no zero bytes")
    return name


def encode_name(name: str) -> str:
    """A name for a path that we give out. A client would tidy away dots that are all of a name."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


Name = Annotated[str, BeforeValidator(name_in_path)]
"""A parameter of a path that may hold any character."""
