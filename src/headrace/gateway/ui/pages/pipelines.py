"""Spark jobs as the queue sees them: those that commit their progress to a group have a lag like any other reader."""

from headrace.client.groups import GroupListed
from headrace.gateway.ui import words
from headrace.gateway.ui.chart import Chart
from headrace.gateway.ui.figures import group_lag, lines, total_lag_series
from headrace.gateway.ui.grid import Column, Grid, Row, link
from headrace.gateway.ui.live import keep_fresh
from headrace.gateway.ui.pages.groups import group_href, state_tag
from headrace.gateway.ui.pieces import Panel, Tile, empty, head, tiles
from headrace.gateway.ui.watch import Watch

PREFIXES = ("headrace-spark", "headrace-pipeline", "spark-kafka-source")
LINES_MAX = 8
COLUMNS = (
    Column("name", "Job", "link"),
    Column("lag", "Behind", "number"),
    Column("state", "State", "tags"),
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
            'A Spark query that reads with format("headrace") commits its progress to a group, and appears here.',
        )

    async def refresh() -> None:
        found = [each for each in await watch.groups.get() if each.group.startswith(PREFIXES)]
        behind_by = {each.group: group_lag(watch.monitor, each.group) for each in found}
        jobs.show(words.count(len(found)))
        behind.show(words.count(sum(lag or 0 for lag in behind_by.values())), "messages")
        grid.visible, nothing.visible = bool(found), not found
        grid.show([_row(each, behind_by[each.group]) for each in found])
        farthest = sorted(behind_by, key=lambda group: behind_by[group] or 0, reverse=True)[:LINES_MAX]
        chart.show(*lines(watch.monitor, total_lag_series(sorted(farthest))))

    grid.visible = False
    keep_fresh(refresh)


def _row(each: GroupListed, behind: int | None) -> Row:
    return {
        "key": each.group,
        "name": link(each.group, group_href(each.group)),
        "lag": words.count(behind),
        "state": [state_tag(each.state)],
    }
