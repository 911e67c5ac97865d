"""`headrace log dump`: what is really in the segment files, without a broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.failure import ExitCode
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, UnusedBootstrap

if TYPE_CHECKING:
    from headrace.cli.log.segment_view import SegmentView

app = typer.Typer(help="Look into log files offline.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Look into log files offline."""


@app.command()
def dump(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH|DATA", help="A segment, a partition's directory, or the data root.", show_default=False
        ),
    ],
    topic: Annotated[str | None, typer.Argument(help="With DATA: the topic.", show_default=False)] = None,
    partition: Annotated[
        int | None, typer.Argument(help="With DATA: the partition; all if not given.", show_default=False)
    ] = None,
    records: Annotated[bool, typer.Option("--records", help="Open the batches and show the records.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Check everything, show one line per segment.")] = False,
    offset: Annotated[int, typer.Option("--from", help="Begin with the batch that holds this offset.", min=0)] = 0,
    count: Annotated[int | None, typer.Option("--count", "-n", help="Show at most so many batches.", min=1)] = None,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> int:
    """Show the batches of segment files, check their CRCs and the index. Exit code 1 when something is damaged."""
    from headrace.cli.log.segment_finder import find_segments
    from headrace.cli.log.segment_view import JsonView, TextView

    view: SegmentView = JsonView(records) if as_json else TextView(records)
    shown = _Window(offset, 0 if summary else count)
    damaged = [segment for segment in find_segments(path, topic, partition) if not _dump_segment(segment, view, shown)]
    return ExitCode.FAILED if damaged else ExitCode.OK


class _Window:
    """The batches to show. All are read and checked whatever is shown."""

    def __init__(self, offset: int, left: int | None) -> None:
        self.offset = offset
        self.left = left

    def takes(self, last_offset: int) -> bool:
        if last_offset < self.offset or self.left == 0:
            return False
        self.left = None if self.left is None else self.left - 1
        return True


def _dump_segment(path: Path, view: "SegmentView", shown: _Window) -> bool:
    from headrace.cli.log.segment_file import IndexCheck, SegmentFile

    segment = SegmentFile(path)
    index = IndexCheck(segment)
    view.begin(segment)
    for batch in segment.batches():
        index.on_batch(batch)
        if shown.takes(batch.header.last_offset):
            view.show(batch)
    view.end(segment, index.finish())
    return not segment.damage and not index.damage
