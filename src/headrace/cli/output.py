"""The output of every command: a table or a few named lines for people, JSON for programs.

Results go to stdout, remarks to stderr. A table that is piped is never cut to a terminal's width.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Row = Mapping[str, Any]

WIDTH_WHEN_PIPED = 100_000


def console(stderr: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else WIDTH_WHEN_PIPED)


def show_json(value: Any) -> None:
    # In one piece, line feed and all: others may write lines to the same stdout (`up --log-dir -`).
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")


def show_rows(rows: Sequence[Row], columns: Mapping[str, str], empty: str = "nothing to show") -> None:
    """`columns` maps a row's key to the head above it; numbers stand right, everything else left."""
    if not rows:
        remark(empty)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for key, head in columns.items():
        number = all(isinstance(row[key], int | None) and not isinstance(row[key], bool) for row in rows)
        table.add_column(head, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[key]) for key in columns))
    console().print(table)


def show_fields(fields: Row) -> None:
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        print(f"{name:<{width}}  {as_text(value)}")


def remark(text: str) -> None:
    print(text, file=sys.stderr)


def as_text(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return str(value)
        case list() | tuple():
            return ",".join(map(str, value)) or "-"
        case _:
            return str(value)


def _cell(value: Any) -> str:
    from rich.markup import escape

    return escape(as_text(value))


def count_of(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
