"""Salted keys: the messages of one hot key spread over several partitions, and found again by its readers.

A salt gives up the order between the messages of that key; those with the same salt keep theirs.
"""

import random
import zlib
from typing import overload

from headrace.api.errors import ApiError

_MARK = b"#"


def salted(key: str | bytes, salts: int, salt: int | str | bytes | None = None) -> bytes:
    """The key with one of `salts` salts: that of `salt`, the name of what must stay in order, or any."""
    if isinstance(salts, bool) or not isinstance(salts, int) or salts < 1:
        raise ApiError(f"salts is {salts!r}", "a key needs at least one: pass a whole number from 1")
    if not isinstance(key, str | bytes):
        raise ApiError(f"{key!r} cannot be salted", "pass a key of text or bytes")
    number = random.randrange(salts) if salt is None else _number(salt) % salts
    return _bytes(key) + _MARK + str(number).encode()


@overload
def unsalted(key: bytes) -> bytes: ...


@overload
def unsalted(key: None) -> None: ...


def unsalted(key: bytes | None) -> bytes | None:
    """The key as it was before `salted`; one without a salt is returned as it is."""
    if key is None:
        return None
    bare, mark, number = key.rpartition(_MARK)
    return bare if mark and number.isdigit() else key


def _number(salt: int | str | bytes) -> int:
    return salt if isinstance(salt, int) else zlib.crc32(_bytes(salt))


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
