"""A declared setting: Kafka's dotted name, its kind, default, bounds and meaning; text in, checked value out.

A value from `Setting.parse` is inside its bounds, so nobody checks it again. Durations and sizes are plain numbers, as
in Kafka; there are no units to parse. The value that somebody set, and who did, is not known here.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from enum import IntEnum
from typing import Final, NamedTuple

from headrace.base.errors import UserError

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1

Value = bool | int | float | str | tuple[str, ...] | None


class Kind(IntEnum):
    """The kinds of values, numbered as DescribeConfigs numbers them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7
    PASSWORD = 9


class SettingError(UserError):
    """A value that a setting does not take. The message names the setting, the value and what is allowed."""

    def __init__(self, name: str, text: str, allowed: str) -> None:
        super().__init__(f"{name} cannot be {text!r}", f"Allowed: {allowed}.")
        self.name = name
        self.text = text
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{self.cause}. {self.fix}"


class UnknownSetting(UserError):
    """The error for an unknown setting; the message offers the nearest name that exists, unless a fix is known."""

    def __init__(self, name: str, known: Collection[str], fix: str = "") -> None:
        near = [] if fix else get_close_matches(name, known, n=1)
        super().__init__(f"there is no setting {name}", f"Did you mean {near[0]}?" if near else fix)
        self.name = name

    def __str__(self) -> str:
        return f"{self.cause}. {self.fix}".rstrip(". ") + ("" if self.fix else ".")


class Setting(NamedTuple):
    name: str
    kind: Kind
    default: Value
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    also: tuple[int, ...] = ()
    """Numbers that are allowed although they are outside the bounds, such as -1 for "the codec decides"."""
    words: str = ""
    """A pattern every word of a list must match."""
    dynamic: bool = False
    """Whether it can change while the broker runs; otherwise it is read once, at start."""
    per_listener: bool = False
    """Whether one listener of a broker can have its own value."""

    @property
    def sensitive(self) -> bool:
        return self.kind is Kind.PASSWORD

    def parse(self, text: str) -> Value:
        value = _PARSERS[self.kind](text.strip(), self)
        if not self._is_allowed(value):
            raise self.error(text)
        return value

    def error(self, text: str) -> SettingError:
        return SettingError(self.name, "***" if self.sensitive else text, self.allowed)

    @property
    def allowed(self) -> str:
        if self.kind is Kind.BOOLEAN:
            return " or ".join(self.choices or ("true", "false"))
        if self.choices:
            names = ", ".join(self.choices)
            return f"a list of {names}" if self.kind is Kind.LIST else f"one of {names}"
        if self.kind in _NUMBERS:
            return self._allowed_numbers()
        if self.words:
            return f"a list of words that match {self.words}, separated by commas"
        return "a list of words, separated by commas" if self.kind is Kind.LIST else "any text"

    def _allowed_numbers(self) -> str:
        low, high = self._bounds()
        noun = "a number" if self.kind is Kind.DOUBLE else "a whole number"
        span = f"{noun} from {low}" if math.isinf(high) else f"{noun} from {low} to {high}"
        return span + "".join(f", or {other}" for other in self.also)

    def _bounds(self) -> tuple[float, float]:
        widest_low, widest_high = _NUMBERS[self.kind]
        return (widest_low if self.low is None else self.low), (widest_high if self.high is None else self.high)

    def _is_allowed(self, value: Value) -> bool:
        if isinstance(value, tuple):
            return all(self._is_word(word) for word in value)
        if isinstance(value, bool):
            return not self.choices or render(value) in self.choices
        if isinstance(value, int | float):
            low, high = self._bounds()
            return low <= value <= high or value in self.also
        return not self.choices or value in self.choices

    def _is_word(self, word: str) -> bool:
        if self.words:
            return re.fullmatch(self.words, word) is not None
        return not self.choices or word in self.choices


def render(value: Value) -> str | None:
    """The text that parses back to the value; None where nothing is set."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
    return str(value)


_NUMBERS: Final[Mapping[Kind, tuple[float, float]]] = {
    Kind.INT: (-INT_MAX - 1, INT_MAX),
    Kind.LONG: (-LONG_MAX - 1, LONG_MAX),
    Kind.DOUBLE: (-math.inf, math.inf),
}


def _parse_boolean(text: str, setting: Setting) -> Value:
    match text.lower():
        case "true":
            return True
        case "false":
            return False
    raise setting.error(text)


def _parse_whole(text: str, setting: Setting) -> Value:
    digits = text[1:] if text[:1] in ("-", "+") else text
    # int() alone would also take "1_000", "٣" and a line of ten thousand digits.
    if not (digits.isascii() and digits.isdigit() and len(digits) < 40):
        raise setting.error(text)
    return int(text)


def _parse_double(text: str, setting: Setting) -> Value:
    try:
        value = float(text)
    except ValueError:
        raise setting.error(text) from None
    if math.isnan(value):
        raise setting.error(text)
    return value


def _parse_list(text: str, setting: Setting) -> Value:
    words = (word.strip() for word in text.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def _parse_text(text: str, setting: Setting) -> Value:
    return text


_PARSERS: Final[Mapping[Kind, Callable[[str, Setting], Value]]] = {
    Kind.BOOLEAN: _parse_boolean,
    Kind.STRING: _parse_text,
    Kind.INT: _parse_whole,
    Kind.LONG: _parse_whole,
    Kind.DOUBLE: _parse_double,
    Kind.LIST: _parse_list,
    Kind.PASSWORD: _parse_text,
}
