"""A read of an https URL with a bound on bytes and time, from no other address than the one that was named.

Blocks, so a thread does it. Raises OSError or ValueError for everything that goes wrong.
"""

import ssl
import time
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Final

PIECE_BYTES_MAX: Final = 65536


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """None: an answer from elsewhere is none."""


def fetch(
    url: str,
    seconds_max: float,
    bytes_max: int,
    tls: ssl.SSLContext | None = None,
    form: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """The answer to a GET, or to a POST of a form."""
    request = urllib.request.Request(url, form, dict(headers or {}))
    if request.type != "https":
        raise ValueError("it is no https URL")
    try:
        return _fetched(request, seconds_max, bytes_max, tls)
    except HTTPException as error:
        raise OSError(f"the answer is not HTTP: {error!r}") from error


def _fetched(request: urllib.request.Request, seconds_max: float, bytes_max: int, tls: ssl.SSLContext | None) -> bytes:
    opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=tls))
    deadline = time.monotonic() + seconds_max
    content = b""
    with opener.open(request, timeout=seconds_max) as response:
        # One that sends a byte now and then would keep us for ever.
        while piece := response.read1(PIECE_BYTES_MAX):
            content += piece
            if len(content) > bytes_max:
                raise ValueError(f"it has more than {bytes_max} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError(f"it was not sent in {seconds_max:.0f} s")
    return content
