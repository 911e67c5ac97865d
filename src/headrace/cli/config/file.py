"""The configuration file: TOML with a section for each command that takes it, and one for the brokers' settings.

    [broker]                        # of `serve` and `up`: Kafka's names
    num.partitions = 6
    [serve]                         # options of `headrace serve`, as on its command line
    host = "10.0.0.1"

What is wrong is told with the file, the line and the nearest name. The command line wins over the file.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from headrace.base.errors import UserError
from headrace.cli.failure import ExitCode, Failure
from headrace.cluster.broker_config import parse_broker_setting
from headrace.stores.open import check_store

LEVELS = ("debug", "info", "warning", "error")


class OptionKind(NamedTuple):
    """The values that an option takes: of a type, within bounds, or one of some words."""

    type: type
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None

    def takes(self, value: object) -> bool:
        if isinstance(value, bool) != (self.type is bool):
            return False
        if self.type in (int, float):
            numbers = (int, float) if self.type is float else int
            return isinstance(value, numbers) and self.least <= value and (self.most is None or value <= self.most)
        return isinstance(value, self.type) and (not self.choices or value in self.choices)

    def __str__(self) -> str:
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.type in (int, float):
            to = "" if self.most is None else f" to {self.most}"
            return f"a {'whole ' if self.type is int else ''}number from {self.least}{to}"
        return "true or false" if self.type is bool else "text in quotes"


BROKER_ID_MAX, PORT_MAX, BROKERS_MAX = 2**31 - 1, 65535, 100
TEXT, FLAG = OptionKind(str), OptionKind(bool)
PORT, PORT_OR_ANY = OptionKind(int, least=1, most=PORT_MAX), OptionKind(int, most=PORT_MAX)
LOG_OPTIONS: Mapping[str, OptionKind] = {
    "log-format": OptionKind(str, ("text", "json")),
    "log-level": OptionKind(str, LEVELS),
    "log-file": TEXT,
    "log-file-bytes": OptionKind(int),
    "log-files": OptionKind(int, least=1),
}
OPTIONS: Mapping[str, Mapping[str, OptionKind]] = {
    "serve": {
        "id": OptionKind(int, most=BROKER_ID_MAX),
        "host": TEXT,
        "port": PORT_OR_ANY,
        "advertised-host": TEXT,
        "data": TEXT,
        "store": TEXT,
        "metrics-port": PORT_OR_ANY,
        "rack": TEXT,
        "allow-insecure-network": FLAG,
        **LOG_OPTIONS,
    },
    "up": {
        "brokers": OptionKind(int, least=1, most=BROKERS_MAX),
        "port": PORT,
        "http-port": PORT,
        "metrics-port": PORT,
        "data": TEXT,
        "no-gateway": FLAG,
        "secure": FLAG,
        "allow-insecure-network": FLAG,
        "end-stopped-after": OptionKind(float),
        "restart": FLAG,
        "log-level": OptionKind(str, LEVELS),
        "log-dir": TEXT,
    },
}
SECTIONS = ("broker", *OPTIONS, "gateway")
_HEADER = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""^\s*([A-Za-z0-9_."'\- ]+?)\s*=""")


@dataclass(frozen=True)
class ConfigFile:
    path: str = ""
    broker: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The options of `serve` and `up`, by their names with underscores."""
    gateway: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def of(self, command: str) -> dict[str, Any]:
        return dict(self.options.get(command, {}))

    def place(self, section: str, name: str) -> str:
        line = self.lines.get((section, name))
        return f"{self.path}:{line}" if line else self.path

    def refused(self, section: str, name: str, cause: str, fix: str) -> Failure:
        return Failure(f"{self.place(section, name)}: {cause}", fix, ExitCode.USAGE)


def read_config(path: str) -> ConfigFile:
    """A file whose `broker`, `serve` and `up` are right; the settings of the gateway are checked where it is installed."""
    return parse_config(path, _text(path))


def parse_config(path: str, text: str) -> ConfigFile:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(path, text, error) from None
    file = ConfigFile(path, lines=dict(_lines(text)))
    for name, table in tables.items():
        _check_section(file, name, table)
    return ConfigFile(
        path,
        dict(_broker_settings(file, tables.get("broker", {}))),
        {command: _options(file, command, tables.get(command, {})) for command in OPTIONS},
        {name.replace("-", "_"): value for name, value in tables.get("gateway", {}).items()},
        file.lines,
    )


def nearest(name: str, known: Mapping[str, object] | tuple[str, ...], otherwise: str) -> str:
    found = get_close_matches(name, list(known), n=1)
    return f"did you mean {found[0]}?" if found else otherwise


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        raise Failure(f"--config {path}: this is not UTF-8 text", "name a TOML file", ExitCode.USAGE) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Failure(f"--config {path}: {reason}", "name a TOML file that you may read", ExitCode.USAGE) from None


def _no_toml(path: str, text: str, error: tomllib.TOMLDecodeError) -> Failure:
    """The failure of a text that TOML cannot read, with its line also where the parser has none."""
    lines: dict[tuple[str, str], int] = {}
    for (section, name), line in _lines(text):
        if section and (section, name) in lines:
            first = lines[section, name]
            cause = f"{path}:{line}: {name} stands in [{section}] twice, first in line {first}"
            return Failure(cause, "leave one of them out", ExitCode.USAGE)
        lines[section, name] = line
    for (section, name), line in lines.items():
        # To TOML `max.connections` cannot be a number and begin `max.connections.per.ip` too.
        is_quoted = f'"{name}"' in text or f"'{name}'" in text
        if not is_quoted and any(name.startswith(f"{other}.") for where, other in lines if where == section):
            cause = f"{path}:{line}: {name} begins with another name that stands there"
            return Failure(cause, f'put the longer name in quotes: "{name}" = …', ExitCode.USAGE)
    return Failure(f"{path}: this is not TOML: {error}", "see docs/config-file.md", ExitCode.USAGE)


def _check_section(file: ConfigFile, name: str, table: object) -> None:
    if isinstance(table, dict) and name in SECTIONS:
        return
    if isinstance(table, dict) and ("", name) in file.lines:
        hint = nearest(name, SECTIONS, f"there are {', '.join(f'[{each}]' for each in SECTIONS)}")
        raise file.refused("", name, f"there is no section [{name}]", hint)
    if isinstance(table, list):
        raise Failure(f"{file.path}: [[{name}]] is a list of sections", f"write [{name}]", ExitCode.USAGE)
    key, line = next(((key, line) for key, line in file.lines.items() if name in key), (("", name), 0))
    dotted = ".".join(filter(None, key))
    raise Failure(
        f"{file.path}:{line}: {dotted} stands in no section",
        "put Kafka's settings under [broker], options under [serve], [up] or [gateway]",
        ExitCode.USAGE,
    )


def _broker_settings(file: ConfigFile, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in _flat(table):
        text = _as_text(value)
        try:
            parse_broker_setting(name, text)
        except UserError as error:
            fix = error.fix or "docs/configuration.md lists them all"
            raise file.refused("broker", name, error.cause, fix) from None
        yield name, text


def _options(file: ConfigFile, command: str, table: Mapping[str, Any]) -> dict[str, Any]:
    known, options = OPTIONS[command], {}
    for name, value in table.items():
        kind = known.get(name.replace("_", "-"))
        if kind is None:
            hint = nearest(name, known, f"it has {', '.join(known)}; Kafka's settings stand under [broker]")
            raise file.refused(command, name, f"[{command}] has no option {name}", hint)
        if not kind.takes(value):
            raise file.refused(command, name, f"{name} cannot be {value!r}", f"it is {kind}")
        options[name.replace("-", "_")] = value
    if store := options.get("store"):
        _check_store(file, command, store)
    return options


def _check_store(file: ConfigFile, command: str, store: str) -> None:
    try:
        check_store(store)
    except UserError as error:
        raise file.refused(command, "store", error.cause, error.fix) from None


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """`num.partitions = 6` is a table within a table to TOML, and one name to Kafka."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield before + name, value


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_as_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lines(text: str) -> Iterator[tuple[tuple[str, str], int]]:
    """The line of each name, by section; of a section itself, under "" and its name."""
    section: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = _words(header[1])
            yield ("", section[0]), number
        elif key := _KEY.match(line):
            first, *rest = [*section, *_words(key[1])]
            yield ((first, ".".join(rest)) if rest else ("", first)), number


def _words(dotted: str) -> list[str]:
    return [word for part in dotted.split(".") if (word := part.strip().strip("\"'"))] or [""]
