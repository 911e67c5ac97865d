"""JSON whose whole numbers stay what they are: orjson makes a float of one beyond 64 bits, and so loses digits.

Python's own parser does not, and is slow. It reads what has a long run of digits, if only inside of a text.
"""

import json
from typing import Any

import orjson

_AS_ZEROS = bytes(ord("0") if chr(each) in "0123456789" else each for each in range(256))
# The first whole number beyond 64 bits, with or without a sign, has as many digits.
_LONG = b"0" * 19


def may_lose_digits(data: bytes) -> bool:
    return _LONG in data.translate(_AS_ZEROS)


def loads(data: bytes) -> Any:
    """JSONDecodeError of orjson if it is none, or holds a number that nobody could write down again."""
    found = orjson.loads(data)
    return loads_exactly(data) if may_lose_digits(data) else found


def loads_exactly(data: bytes) -> Any:
    """What orjson has read before, with all digits."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise orjson.JSONDecodeError(f"beyond what can be kept: {error}", "", 0) from None


def dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
