"""The options that say what a scoped token may do, from where and for how long; the same where one is made and narrowed.

NAME is that name, NAME* all names that begin so, * all names.
"""

import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, NamedTuple

import typer

from headrace.base.moments import parse_duration
from headrace.cli.failure import ExitCode, Failure
from headrace.security.scope import BadCaveat, parse_grant, parse_network
from headrace.security.scoped_tokens import Caveat


class Narrowing(NamedTuple):
    """The limits that the options of a command set, as caveats of a token."""

    grants: tuple[str, ...]
    networks: tuple[str, ...]
    ttl_ms: int | None

    def caveats(self) -> list[Caveat]:
        found: list[Caveat] = []
        if self.grants:
            found.append({"may": list(self.grants)})
        if self.networks:
            found.append({"from": list(self.networks)})
        if self.ttl_ms is not None:
            found.append({"until": time.time_ns() // 1_000_000 + self.ttl_ms})
        return found


def with_narrowing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that is given `Narrowing` first, and whose own options come behind those of narrowing."""

    def run(**given: Any) -> Any:
        rest = {name: value for name, value in given.items() if name not in _OPTIONS}
        return command(_narrowing(given), **rest)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [each for each in inspect.signature(command).parameters.values() if each.name != "narrowing"]
    parameters = [inspect.Parameter(name, keyword, default=None, annotation=each) for name, each in _OPTIONS.items()]
    parameters += [each.replace(kind=keyword) for each in own]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def _many(option: str, metavar: str, text: str) -> Any:
    return Annotated[list[str] | None, typer.Option(f"--{option}", metavar=metavar, help=text)]


_OPTIONS: Final[Mapping[str, Any]] = {
    "read": _many("read", "TOPIC", "Read this topic; with --group for consumers in groups. May be repeated."),
    "write": _many("write", "TOPIC", "Write to this topic. May be repeated."),
    "describe": _many("describe", "TOPIC", "See that this topic is there, and no more. May be repeated."),
    "group": _many("group", "GROUP", "Consume and commit in this group. May be repeated."),
    "txn_id": _many("txn-id", "ID", "Write in transactions of this transactional id. May be repeated."),
    "may": _many("may", "'OPERATION TYPE NAME'", "Any other right: 'create topic tmp-*', 'describe cluster'."),
    "origin": _many("from", "ADDRESS", "Log in from this address or CIDR block only. May be repeated."),
    "ttl": Annotated[str | None, typer.Option("--ttl", metavar="TIME", help="How long it is good: 90s, 15m, 1h, 7d.")],
}
_GRANTS: Final[Mapping[str, str]] = {
    "read": "read topic",
    "write": "write topic",
    "describe": "describe topic",
    "group": "read group",
    "txn_id": "write transactional-id",
}


def _narrowing(given: Mapping[str, Any]) -> Narrowing:
    try:
        grants, networks = tuple(_grants(given)), tuple(given["origin"] or ())
        for grant in grants:
            parse_grant(grant)
        for network in networks:
            parse_network(network)
    except BadCaveat as error:
        fix = "write --read TOPIC, --may 'OPERATION TYPE NAME', --from 10.0.0.0/8"
        raise Failure(str(error), fix, ExitCode.USAGE) from None
    return Narrowing(grants, networks, _ttl_ms(given["ttl"]))


def _grants(given: Mapping[str, Any]) -> Iterator[str]:
    for option, words in _GRANTS.items():
        yield from (f"{words} {name}" for name in given[option] or ())
    yield from given["may"] or ()


def _ttl_ms(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        found = parse_duration(text)
    except ValueError as error:
        raise Failure(f"--ttl: {error}", "write --ttl 90s, 15m, 1h or 7d", ExitCode.USAGE) from None
    if found <= 0:
        raise Failure("--ttl is nothing", "write --ttl 90s, 15m, 1h or 7d", ExitCode.USAGE)
    return found
