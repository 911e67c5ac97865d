"""Spark jobs as the queue sees them: those that commit their progress to a group have a lag like any other reader."""

from headrace.gateway.ui import words
from headrace.gateway.ui.chart import Chart
from headrace.gateway.ui.figures import lines, total_lag_series
from headrace.gateway.ui.grid import Column, Grid, Row, link
from headrace.gateway.ui.jobs import Job
from headrace.gateway.ui.live import keep_fresh
from headrace.gateway.ui.pages.groups import group_href
from headrace.gateway.ui.pieces import Panel, Tile, empty, head, tiles
from headrace.gateway.ui.watch import Watch

PIPELINE_AGE_SECONDS_MAX = 5.0
LINES_MAX = 8
COLUMNS = (
    Column("name", "Job", "link"),
    Column("topics", "Reads"),
    Column("lag", "Behind", "number"),
)


def pipelines(watch: Watch) -> None:
    with head("Pipelines"):
        pass
    with tiles():
        jobs, behind = Tile("Jobs"), Tile("Behind, all together")
    with Panel("Behind, by job").body():
        chart = Chart("Messages behind")
    with Panel("Spark jobs"):
        grid = Grid("Spark jobs", COLUMNS, "")
        nothing = empty(
            "account_tree",
            "No job has reported yet",
            'A Spark query with format("headrace") and kafka.group.id commits its progress to that group.',
        )

    def show(found: list[Job]) -> None:
        jobs.show(words.count(len(found)))
        behind.show(words.count(sum(job.behind for job in found)), "messages")
        grid.visible, nothing.visible = bool(found), not found
        grid.show([_row(job) for job in found])
        farthest = sorted(found, key=lambda job: job.behind, reverse=True)[:LINES_MAX]
        chart.show(*lines(watch.monitor, total_lag_series(sorted(job.group for job in farthest))))

    async def refresh() -> None:
        show(await watch.jobs.get(PIPELINE_AGE_SECONDS_MAX))

    show(watch.jobs.last or [])
    keep_fresh(refresh)


def _row(job: Job) -> Row:
    return {
        "key": job.group,
        "name": link(job.group, group_href(job.group)),
        "topics": ", ".join(job.topics),
        "lag": words.count(job.behind),
    }
