"""The options that mean the same in every command, written down once."""

from collections.abc import Iterable
from typing import Annotated

import typer

from headrace.cli.failure import ExitCode, Failure

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        metavar="HOST:PORT,…",
        envvar="HEADRACE_BOOTSTRAP",
        help="Brokers to ask first; one that answers is enough.",
    ),
]
UnusedBootstrap = Annotated[
    str,
    typer.Option("--bootstrap", hidden=True, help="Accepted as everywhere; this command asks no broker."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, errors too.")]
TopicName = Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)]


def parse_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`NAME=VALUE …` as given to --set, --config and --header; a value may hold further equal signs."""
    parsed = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.strip():
            raise Failure(f"{option} {pair}: this is not NAME=VALUE", f"write {option} name=value", ExitCode.USAGE)
        parsed[name.strip()] = value
    return parsed
