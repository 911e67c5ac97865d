"""The bytes of a key, a value or a header as text that a person can read. Pure.

Bytes that are UTF-8 without control characters are text; others are shown as hex. Nothing here is HTML: the pages show the
result as text.
"""

import codecs
import json
import re
from typing import Literal

Form = Literal["text", "json", "hex"]

PREVIEW_CHARACTERS = 240
HEX_BYTES_MAX = 64 * 1024
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_HEX_WIDTH = 16


def text_of(raw: bytes) -> str | None:
    """None when it is not text."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def _text_of_start(raw: bytes, size: int) -> str | None:
    try:
        # The cut may go through the middle of a character: only what follows would complete it.
        text = codecs.getincrementaldecoder("utf-8")().decode(raw[:size], final=len(raw) <= size)
    except UnicodeDecodeError:
        return None
    return None if _CONTROL.search(text) else text


def natural_form(raw: bytes) -> Form:
    text = text_of(raw)
    if text is None:
        return "hex"
    return "json" if text.lstrip()[:1] in ("{", "[") and _pretty(text) is not None else "text"


def shown(raw: bytes, form: Form) -> str:
    """In that form, or the nearest that these bytes allow."""
    text = text_of(raw)
    if form == "hex" or text is None:
        return hex_dump(raw)
    return (_pretty(text) or text) if form == "json" else text


def preview(raw: bytes | None) -> str:
    """One line, for a table; None is a record without a value."""
    if raw is None:
        return "null"
    text = _text_of_start(raw, PREVIEW_CHARACTERS * 4)
    line = raw[:PREVIEW_CHARACTERS].hex(" ") if text is None else " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARACTERS else f"{line[:PREVIEW_CHARACTERS]}…"


def hex_dump(raw: bytes) -> str:
    lines = []
    for start in range(0, min(len(raw), HEX_BYTES_MAX), _HEX_WIDTH):
        row = raw[start : start + _HEX_WIDTH]
        readable = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{start:08x}  {row.hex(' '):<{_HEX_WIDTH * 3 - 1}}  {readable}")
    if len(raw) > HEX_BYTES_MAX:
        lines.append(f"… {len(raw) - HEX_BYTES_MAX} more bytes")
    return "\n".join(lines)


def _pretty(text: str) -> str | None:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
