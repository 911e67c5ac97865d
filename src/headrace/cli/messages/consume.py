"""`headrace consume`: read a topic and print it, by assigned partitions, or with --group as a member of a group.

Reads to the end that the topic had at the start and stops there; --follow goes on.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, TopicName

if TYPE_CHECKING:
    from headrace.cli.messages.message import Render
    from headrace.cli.messages.reader import ReadingAsked


def consume(
    topic: TopicName,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", help="Only this one; may be repeated.", min=0)
    ] = None,
    start: Annotated[
        str,
        typer.Option("--from", metavar="earliest|latest|OFFSET|-N|@TIME", help="Where to begin; -10 is the last ten."),
    ] = "earliest",
    follow: Annotated[
        bool | None,
        typer.Option("--follow/--until-end", "-f/-e", help="Wait for more at the end, or stop there (the default)."),
    ] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", help="Stop after so many messages.", min=1)] = None,
    text_format: Annotated[
        str,
        typer.Option(
            "--format",
            help=r"%t topic %p partition %o offset %T time %k key %v value %h headers %K %S sizes, \n \t \xHH.",
        ),
    ] = r"%v\n",
    null_value: Annotated[str, typer.Option(help="What to print for a null key or value.")] = "",
    group: Annotated[
        str | None,
        typer.Option(help="Join this group: share the topic with its members, begin where it ended, commit."),
    ] = None,
    read_uncommitted: Annotated[
        bool, typer.Option("--read-uncommitted", help="Show messages of open and aborted transactions too.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Read messages: from an offset, a time or the tail; as text or one JSON object per line."""
    from headrace.cli.messages.message import compile_format, to_json
    from headrace.cli.messages.reader import Reader, ReadingAsked
    from headrace.cli.messages.start_at import parse_start

    place = parse_start(start)
    as_text = compile_format(text_format, null_value.encode())
    reading = ReadingAsked(
        topic=topic,
        partitions=tuple(partition or ()),
        start=place,
        follow=place.follows if follow is None else follow,
        count=count,
        isolation="read_uncommitted" if read_uncommitted else "read_committed",
    )
    if group is not None:
        _read_as_member(bootstrap, group, reading, to_json if as_json else as_text)
        return
    if place.kind == "offset" and len(reading.partitions) != 1:
        raise Failure("an offset belongs to one partition", f"add --partition N to --from {start}", ExitCode.USAGE)
    Reader(bootstrap, reading).print_all(to_json if as_json else as_text)


def _read_as_member(bootstrap: str, group: str, reading: "ReadingAsked", render: "Render") -> None:
    from headrace.cli.messages.group_reader import TerminalMember

    if reading.partitions or reading.start.kind not in ("earliest", "latest"):
        raise Failure(
            "a group decides itself who reads what, and from where",
            "leave out --partition; --from may be earliest or latest, for what has no commit yet; "
            "`headrace group reset` moves a group",
            ExitCode.USAGE,
        )
    TerminalMember(bootstrap, group, reading).print_all(render)
