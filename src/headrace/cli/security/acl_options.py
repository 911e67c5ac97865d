"""The options that say of whom, of what and of which operations a rule speaks; the same for all commands about rules.

NAME is that name, NAME* all names that begin so, * all names.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, NamedTuple

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.security.acl import ANYWHERE, EVERYTHING
from headrace.security.operations import THE_CLUSTER, Operation, PatternType, ResourceType

OPERATIONS: Final[Mapping[str, Operation]] = {
    each.name.lower(): each for each in Operation if each is not Operation.ANY
}
_RESOURCES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "txn_id": ResourceType.TRANSACTIONAL_ID,
}
_OFTEN: Final = ("read", "write", "create", "delete", "alter", "describe", "all")


class Pattern(NamedTuple):
    kind: ResourceType
    name: str
    type: PatternType


class Asked(NamedTuple):
    """The principal, host, resources and operations that the options of a command name."""

    principal: str | None
    host: str | None
    resources: list[Pattern]
    operations: list[Operation]


def with_rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that is given `Asked` first, and whose own options come behind those of rules."""

    def run(**given: Any) -> Any:
        rest = {name: value for name, value in given.items() if name not in _OPTIONS}
        return command(_asked(given), **rest)

    own = [each for each in inspect.signature(command).parameters.values() if each.name != "asked"]
    parameters = [_parameter(name, annotation) for name, annotation in _OPTIONS.items()]
    parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    default = False if name == "cluster" or name in OPERATIONS else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _names(kind: str, option: str) -> Any:
    text = f"A {kind}: NAME, NAME* or *; may be repeated."
    return Annotated[list[str] | None, typer.Option(f"--{option}", metavar="NAME", help=text)]


def _help(operation: str) -> str:
    return "Every operation." if operation == "all" else f"The operation {operation.replace('_', ' ')}."


_OPTIONS: Final[Mapping[str, Any]] = {
    "user": Annotated[str | None, typer.Option("--user", metavar="NAME", help="The user; * is everybody.")],
    "principal": Annotated[
        str | None, typer.Option("--principal", metavar="TYPE:NAME", help="Instead of --user, where it is none.")
    ],
    "host": Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="An address, or a CIDR block; without it, any.")
    ],
    "topic": _names("topic", "topic"),
    "group": _names("group", "group"),
    "txn_id": _names("transactional id", "txn-id"),
    "cluster": Annotated[bool, typer.Option("--cluster", help="The cluster itself.")],
    **{
        name: Annotated[bool, typer.Option(f"--{name.replace('_', '-')}", help=_help(name))]
        for name in sorted(OPERATIONS, key=lambda each: (each not in _OFTEN, list(OPERATIONS).index(each)))
    },
}


def _asked(given: Mapping[str, Any]) -> Asked:
    if given["user"] is not None and given["principal"] is not None:
        raise Failure("--user and --principal say the same", "give one of them", ExitCode.USAGE)
    principal = given["principal"] if given["user"] is None else f"User:{given['user']}"
    if principal is not None and ":" not in principal:
        raise Failure(f"--principal {principal}: this is not TYPE:NAME", f"write User:{principal}", ExitCode.USAGE)
    operations: list[Operation] = [operation for name, operation in OPERATIONS.items() if given[name]]
    return Asked(principal, given["host"], list(_patterns(given)), operations)


def _patterns(given: Mapping[str, Any]) -> Iterator[Pattern]:
    for option, kind in _RESOURCES.items():
        yield from (parse_pattern(kind, text) for text in given[option] or ())
    if given["cluster"]:
        yield Pattern(ResourceType.CLUSTER, THE_CLUSTER, PatternType.LITERAL)


def parse_pattern(kind: ResourceType, text: str) -> Pattern:
    if text != EVERYTHING and text.endswith("*"):
        return Pattern(kind, text[:-1], PatternType.PREFIXED)
    return Pattern(kind, text, PatternType.LITERAL)


def need(asked: Asked) -> None:
    """Refuses to go on without a principal, an operation and a resource."""
    missing = {
        "--user": asked.principal is not None,
        "an operation, as --read": asked.operations,
        "a resource, as --topic": asked.resources,
    }
    for what, is_there in missing.items():
        if not is_there:
            raise Failure(f"{what} is missing", "headrace acl allow --user NAME --read --topic NAME", ExitCode.USAGE)


def host_of(asked: Asked) -> str:
    return ANYWHERE if asked.host is None else asked.host
