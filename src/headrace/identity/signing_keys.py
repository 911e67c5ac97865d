"""Public keys of whoever signs tokens (JWKS), read from a file or an https URL, and read again now and then.

    load ─▶ keys ─▶ every refresh.ms, or at once for an unknown key ─▶ read ─▶ keys
                          └─ cannot be read: again after a pause that doubles; the keys so far serve for a day

Without keys a broker does not start, and an empty list is none. Reading blocks, so a thread does it.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from headrace.base.errors import UserError

logger = logging.getLogger("headrace.login")

SETTING: Final = "sasl.oauthbearer.jwks.endpoint.url"
READ_SECONDS_MAX: Final = 10.0
SLACK_SECONDS: Final = 5.0
JWKS_BYTES_MAX: Final = 1 << 20
KEYS_MAX: Final = 1_000
UNKNOWN_SECONDS_MIN: Final = 10.0
KEEP_SECONDS_MAX: Final = 24 * 3600.0

Jwk = Mapping[str, Any]


class Pauses(NamedTuple):
    refresh_seconds: float
    retry_seconds: float
    retry_seconds_max: float


class SigningKeys:
    def __init__(
        self,
        read: Callable[[], bytes],
        where: str,
        pauses: Pauses,
        loop: asyncio.AbstractEventLoop,
        mono: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._where = where
        self._pauses = pauses
        self._loop = loop
        self._mono = mono
        self._thread = ThreadPoolExecutor(1, "signing-keys")
        self._keys: Mapping[str, Jwk] = {}
        self._read_at = self._tried_at = float("-inf")
        self._reading: asyncio.Future[Mapping[str, Jwk]] | None = None

    async def load(self, fix: str = f"see to {SETTING}, or take OAUTHBEARER off sasl.enabled.mechanisms") -> None:
        """Reads the keys for the first time; raises UserError when there are none."""
        try:
            await self._refresh()
        except _UNREADABLE as error:
            raise UserError(
                f"the keys that tokens are signed with cannot be read from {self._where}: {error}",
                fix,
            ) from None

    async def run(self) -> None:
        retry = self._pauses.retry_seconds
        wait = self._pauses.refresh_seconds
        while True:
            await asyncio.sleep(wait)
            try:
                await self._refresh()
                wait, retry = self._pauses.refresh_seconds, self._pauses.retry_seconds
            except _UNREADABLE as error:
                logger.warning("the keys that tokens are signed with cannot be read: %(cause)s", {"cause": error})
                wait, retry = retry, min(2 * retry, self._pauses.retry_seconds_max)

    async def of(self, key_id: str) -> Jwk | None:
        """The key of that id. One that is not known is looked for once more, but not at every token's whim."""
        if key_id not in self._keys and self._may_look:
            with suppress(*_UNREADABLE):
                await self._refresh()
        if self._mono() > self._read_at + KEEP_SECONDS_MAX:
            return None
        return self._keys.get(key_id)

    @property
    def _may_look(self) -> bool:
        return self._reading is not None or self._mono() >= self._tried_at + UNKNOWN_SECONDS_MIN

    async def _refresh(self) -> None:
        """Reads the keys, once for all who wait for them."""
        if self._reading is None:
            self._tried_at = self._mono()
            self._reading = self._loop.run_in_executor(self._thread, self._read_keys)
            self._reading.add_done_callback(self._on_read)
        async with asyncio.timeout(READ_SECONDS_MAX + SLACK_SECONDS):
            await asyncio.shield(self._reading)

    def _read_keys(self) -> Mapping[str, Jwk]:
        return parse_jwks(self._read())

    def _on_read(self, reading: "asyncio.Future[Mapping[str, Jwk]]") -> None:
        self._reading = None
        if not reading.cancelled() and reading.exception() is None:
            self._keys, self._read_at = reading.result(), self._mono()

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


_UNREADABLE: Final = (OSError, ValueError, RecursionError)


def parse_jwks(text: bytes) -> Mapping[str, Jwk]:
    """The keys by their ids; those that are secret, or for another use, are left out. Raises ValueError for none."""
    listed = json.loads(text)
    keys = listed.get("keys") if isinstance(listed, dict) else None
    if not isinstance(keys, list) or len(keys) > KEYS_MAX:
        raise ValueError("this is no JWKS: a JSON object with a list of keys")
    found = {each["kid"]: each for each in keys if isinstance(each, dict) and _is_public_key(each)}
    if not found:
        raise ValueError("there is no public key with an id (kid) for signatures in it")
    return found


def _is_public_key(key: Jwk) -> bool:
    of_kind = key.get("kty") in ("RSA", "EC", "OKP") and "d" not in key
    return of_kind and isinstance(key.get("kid"), str) and key.get("use", "sig") == "sig"


def reader_of(url: str) -> Callable[[], bytes]:
    """Reads what the URL names, with a bound on bytes and time."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise UserError(f"{SETTING} holds a user name", "keys are public: name an address that asks nobody who he is")
    if parts.scheme == "https" and parts.hostname:
        return lambda: _fetched(url)
    if parts.scheme == "file" and parts.path and parts.netloc in ("", "localhost"):
        return lambda: _file(unquote(parts.path))
    raise UserError(
        f"{SETTING} is {url!r}" if url else f"OAUTHBEARER needs {SETTING}",
        "name the keys of your identity provider as https://…, or a copy of them as file:///…",
    )


def _file(path: str) -> bytes:
    with open(path, "rb") as file:
        return _bounded(file.read(JWKS_BYTES_MAX + 1))


def _fetched(url: str) -> bytes:
    # Loaded when it is needed: most brokers have no use for an HTTP client.
    from headrace.identity.https_reader import fetch

    return fetch(url, READ_SECONDS_MAX, JWKS_BYTES_MAX)


def _bounded(content: bytes) -> bytes:
    if len(content) > JWKS_BYTES_MAX:
        raise ValueError(f"it has more than {JWKS_BYTES_MAX} bytes")
    return content
