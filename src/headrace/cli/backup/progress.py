"""The progress of a backup or a restore: on a terminal a bar, elsewhere nothing, since the result is one line."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from headrace.backup.tally import Tally
from headrace.base.units import size_text
from headrace.cli.output import console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

BACKUP_LOOK_SECONDS = 0.2


@asynccontextmanager
async def showing(what: str, tally: Tally, show: bool) -> AsyncIterator[None]:
    if not show or not sys.stderr.isatty():
        yield
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        watching = asyncio.create_task(_watch(progress, task, tally))
        try:
            yield
        finally:
            watching.cancel()


async def _watch(progress: "Progress", task: "TaskID", tally: Tally) -> None:
    while True:
        by_bytes = tally.bytes_total > 0
        done, total = (tally.bytes, tally.bytes_total) if by_bytes else (tally.offsets, tally.offsets_total)
        words = f"{size_text(tally.bytes)} of {size_text(total)}" if by_bytes else f"{size_text(tally.bytes)}"
        progress.update(task, description=words, completed=done, total=total or None)
        await asyncio.sleep(BACKUP_LOOK_SECONDS)
