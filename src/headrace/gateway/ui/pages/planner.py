"""What a load needs, with the arithmetic: the same calculation as `headrace plan`."""

from collections.abc import Callable

from nicegui import ui

from headrace.gateway import planner as capacity
from headrace.gateway.planner import Load, Plan
from headrace.gateway.quantities import bytes_text, parse_bytes, parse_rate, parse_seconds
from headrace.gateway.ui.grid import Column, Grid, Row
from headrace.gateway.ui.pieces import Notice, Panel, Tile, head, tagged, tiles

WORKING = (
    Column("about", "About"),
    Column("name", "What"),
    Column("working", "How it comes about", "mono", width="60%"),
    Column("result", "Result", "number"),
)
GROWTH = (
    Column("times", "Load"),
    Column("brokers", "Brokers", "number"),
    Column("disks", "Disks", "number"),
    Column("stored", "On all disks", "number"),
)
TILES = {
    "in": "Bytes in",
    "inside": "Bytes inside",
    "a day": "A day",
    "a week": "A week",
    "brokers": "Brokers",
    "disks": "Disks",
}


def planner() -> None:
    with head("Planner"):
        pass
    notice = Notice()
    with Panel("The load"), tagged("div", classes="hr-body"), tagged("div", classes="hr-form"):
        rate, size = _field("Messages", "1M/s"), _field("Size of each", "1KB")
        retention, batch = _field("Kept for", "7d"), _field("Sent at once", "100KB")
        copies = ui.number("Replicas", value=3, min=1, max=9, precision=0).props("outlined dense").style("width: 110px")
        readers = ui.number("Readers", value=1, min=0, precision=0).props("outlined dense").style("width: 110px")
    with tiles():
        results = {name: Tile(label) for name, label in TILES.items()}
    with Panel("How it comes about") as panel:
        working = Grid("How it comes about", WORKING, "")
    with Panel("When it grows"):
        growth = Grid("When it grows", GROWTH, "")

    def load() -> Load:
        return Load(
            parse_rate(rate.value or ""),
            parse_bytes(size.value or ""),
            int(copies.value or 1),
            parse_seconds(retention.value or ""),
            int(readers.value or 0),
            parse_bytes(batch.value or ""),
        )

    def show() -> None:
        try:
            made = capacity.plan(load())
        except ValueError as error:
            notice.show(str(error), "warn")
            return
        notice.show("")
        panel.note.text = f"Constants from {made.measured.source}"
        _show(made, results, working, growth)

    _on_change(show, rate, size, retention, batch, copies, readers)
    show()


def _field(label: str, value: str) -> ui.input:
    return ui.input(label, value=value).props("outlined dense debounce=200").style("width: 130px")


def _on_change(show: Callable[[], None], *fields: ui.input | ui.number) -> None:
    for field in fields:
        field.on_value_change(show)


def _show(made: Plan, results: dict[str, Tile], working: Grid, growth: Grid) -> None:
    lines = {line.name: line for line in made.lines}
    for name, tile in results.items():
        tile.show(lines[name].result)
    working.show(
        [_line(index, each.about, each.name, each.working, each.result) for index, each in enumerate(made.lines)]
    )
    growth.show(
        [
            {
                "key": each.times,
                "times": "Today's" if each.times == 1 else f"{each.times} times that",
                "brokers": f"{each.brokers:,}",
                "disks": f"{each.disks:,}",
                "stored": bytes_text(each.stored_bytes),
            }
            for each in made.growth
        ]
    )


def _line(key: int, about: str, name: str, working: str, result: str) -> Row:
    return {"key": key, "about": about.capitalize(), "name": name.capitalize(), "working": working, "result": result}
