"""JSON whose whole numbers stay what they are: orjson makes a float of one beyond 64 bits, and so loses digits.

Python's own parser does not, and is slow. It reads what has a long run of digits, if only inside of a text.
"""

import json
from typing import Any

import orjson

_AS_ZEROS = bytes(ord("0") if chr(each) in "0123456789" else each for each in range(256))
# The first whole number beyond 64 bits, with or without a sign, has as many digits.
_LONG = b"0" * 19
# What orjson writes has 254 levels at most, some of which are those of the reply.
SHALLOW_MAX = 200


def may_lose_digits(data: bytes) -> bool:
    return _LONG in data.translate(_AS_ZEROS)


def loads(data: bytes) -> Any:
    """JSONDecodeError of orjson if it is none, or holds a number that nobody could write down again."""
    found = orjson.loads(data)
    return loads_exactly(data) if may_lose_digits(data) else found


def loads_exactly(data: bytes) -> Any:
    """The value of JSON that orjson accepts, with all digits of its numbers."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise orjson.JSONDecodeError(f"beyond what can be kept: {error}", "", 0) from None


def dumps(value: Any) -> bytes:
    """ValueError for what is nested deeper than a reply could show."""
    try:
        return orjson.dumps(value)
    except TypeError:
        pass
    try:
        data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        orjson.dumps(orjson.loads(data))
    except (TypeError, RecursionError):
        raise ValueError("nested too deeply") from None
    return data


def shown(data: bytes) -> Any:
    """The value as a part of a reply. Raises ValueError if it is no JSON, or a reply would lose digits or could not
    hold it.
    """
    found = orjson.loads(data)
    try:
        if may_lose_digits(data):
            orjson.dumps(loads_exactly(data))
        if data.count(b"[") + data.count(b"{") > SHALLOW_MAX:
            orjson.dumps([[[[[[[[found]]]]]]]])
    except TypeError:
        raise ValueError("more than a reply can show") from None
    return found
