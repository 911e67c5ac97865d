"""`headrace produce`: lines of stdin or files become messages; it says how many are in, and why others are not."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, TopicName, parse_pairs

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
Acks = Literal["all", "1", "0"]


def produce(
    topic: TopicName,
    file: Annotated[
        list[Path] | None, typer.Option("--file", "-f", help="Read this file, not stdin; may be repeated.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Each file (or all of stdin) is one message.")] = False,
    json_lines: Annotated[
        bool,
        typer.Option("--json-lines", help="Each line is an object with key, value, headers, partition, timestamp."),
    ] = False,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", help=r"Split each line into key and value at it (\t).")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="For every message; may be repeated."),
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", help="Send all to this one.", min=0)] = None,
    null_value: Annotated[str | None, typer.Option(help="A key or value that reads like this is sent as null.")] = None,
    acks: Annotated[Acks, typer.Option(help="Whose word counts as delivered.")] = "all",
    compression: Annotated[Codec, typer.Option(help="How batches are packed.")] = "none",
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Send messages: one per line of stdin or of a file, with keys and headers."""
    from headrace.cli.messages.message import unescape
    from headrace.cli.messages.sender import MessageSender
    from headrace.cli.messages.source import LineShape, read_messages

    shape = LineShape(
        key_separator=unescape(key_separator) if key_separator else None,
        null=None if null_value is None else null_value.encode(),
        headers=[(name, value.encode()) for name, value in parse_pairs(header or (), "--header").items()],
        partition=partition,
        whole=whole,
        json_lines=json_lines,
    )
    for path in file or ():
        if not path.is_file():
            raise Failure(f"{path}: there is no such file", "check the name given to --file", ExitCode.NOT_FOUND)
    sender = MessageSender(bootstrap, topic, acks, compression)
    sender.send_all(read_messages(file or [], shape), paths=file or [], quiet=as_json)
    sender.report(as_json)
