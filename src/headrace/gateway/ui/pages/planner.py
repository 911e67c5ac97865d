"""The planner's page: needs of a load with the arithmetic, by the same calculation and figures as `headrace plan`."""

from collections.abc import Callable

from nicegui import ui
from nicegui.events import GenericEventArguments

from headrace.base.errors import UserError
from headrace.base.units import bytes_text, parse_bits_per_second, parse_bytes, parse_rate, parse_seconds
from headrace.gateway import planner as capacity
from headrace.gateway.bench_figures import parse_measured
from headrace.gateway.planner import FROM_DOCS, Grown, Line, Load, Margins, Measured, Plan, Prices
from headrace.gateway.ui import words
from headrace.gateway.ui.grid import Column, Grid, Row
from headrace.gateway.ui.pieces import Notice, Panel, Tile, button, head, tagged, tiles

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
    Column("cost", "A month", "number"),
)
TILES = {
    "inside": "Bytes inside",
    "a day": "A day",
    "a week": "A week",
    "brokers": "Brokers",
    "disks": "Disks",
    "a month costs": "A month costs",
}
# A result of the bench is some kilobytes; what is larger would break the page's connection.
FILE_BYTES_MAX = 500_000
_READ_FILE = f"""async (event) => {{
  const file = event.target.files[0];
  if (file) emit([file.name, file.size > {FILE_BYTES_MAX} ? "" : await file.text()]);
}}"""


def planner() -> None:
    with head("Planner"):
        pass
    notice = Notice()
    with Panel("The load"), tagged("div", classes="hr-body"), tagged("div", classes="hr-form"):
        load = _LoadFields()
    with Panel("The machines") as box:
        machines = _MachineFields(box, notice, lambda: show())
    with tiles():
        results = {name: Tile(label) for name, label in TILES.items()}
    with Panel("How it comes about") as panel:
        working = Grid("How it comes about", WORKING, "")
    with Panel("When it grows"):
        growth = Grid("When it grows", GROWTH, "")

    def show() -> None:
        try:
            made = capacity.plan(load.load(), machines.measured, machines.margins(), machines.prices())
        except ValueError as error:
            notice.show(str(error), "warn")
            return
        notice.show("")
        panel.note.text = f"Constants from {made.measured.source}"
        _show(made, results, working, growth)

    for field in (*load.all, *machines.all):
        field.on_value_change(show)
    show()


class _LoadFields:
    def __init__(self) -> None:
        self._rate, self._size = _field("Messages", "1M/s"), _field("Size of each", "1KB")
        self._retention, self._batch = _field("Kept for", "7d"), _field("Sent at once", "100KB")
        self._copies = ui.number("Replicas", value=3, min=1, max=10, precision=0)
        self._readers = ui.number("Readers", value=1, min=0, max=1000, precision=0)
        for number in (self._copies, self._readers):
            number.props("outlined dense").style("width: 110px")
        self.all = (self._rate, self._size, self._retention, self._batch, self._copies, self._readers)

    def load(self) -> Load:
        return Load(
            parse_rate(self._rate.value or ""),
            parse_bytes(self._size.value or ""),
            int(self._copies.value or 1),
            parse_seconds(self._retention.value or ""),
            int(self._readers.value or 0),
            parse_bytes(self._batch.value or ""),
        )


class _MachineFields:
    """Fields for one's own machines: their size and price; their speed is the published one until a bench result is
    given.
    """

    def __init__(self, box: Panel, notice: Notice, on_measured: Callable[[], None]) -> None:
        self.measured = FROM_DOCS
        self._notice, self._on_measured = notice, on_measured
        with box.doing:
            self._back = button("As published", self._forget)
            self._back.visible = False
            with tagged("label", "Your bench result", "hr-file"):
                self._file = tagged("input").props('type=file accept=".json,application/json"')
                self._file.on("change", self._on_file, js_handler=_READ_FILE)
        with box.body(), tagged("div", classes="hr-form"):
            self._disk, self._network = _field("Size of a disk", "16TB"), _field("Network card", "25Gb/s")
            self._broker, self._terabyte = _price("Price of a broker"), _price("Price of a terabyte")
        self.all = (self._disk, self._network, self._broker, self._terabyte)

    def margins(self) -> Margins:
        line = parse_bits_per_second(self._network.value or "")
        return Margins(disk_bytes=parse_bytes(self._disk.value or ""), network_bytes_per_second=line)

    def prices(self) -> Prices | None:
        broker, terabyte = self._broker.value, self._terabyte.value
        return None if broker is None and terabyte is None else Prices(broker or 0.0, terabyte or 0.0)

    def _on_file(self, event: GenericEventArguments) -> None:
        name, content = event.args
        try:
            self._use(parse_measured(name, content))
        except UserError as error:
            self._notice.show(f"{error.cause}; {error.fix}", "warn")

    def _forget(self) -> None:
        ui.run_javascript(f'getHtmlElement({self._file.id}).value = ""')
        self._use(FROM_DOCS)

    def _use(self, measured: Measured) -> None:
        self.measured = measured
        self._back.visible = measured is not FROM_DOCS
        self._on_measured()


def _field(label: str, value: str) -> ui.input:
    return ui.input(label, value=value).props("outlined dense debounce=200").style("width: 130px")


def _price(label: str) -> ui.number:
    field = ui.number(label, min=0).props('outlined dense debounce=200 placeholder="A month" stack-label')
    return field.style("width: 150px")


def _show(made: Plan, results: dict[str, Tile], working: Grid, growth: Grid) -> None:
    lines = {line.name: line for line in made.lines}
    for name, tile in results.items():
        tile.show(lines[name].result if name in lines else words.NOTHING)
    working.show([_line(index, line) for index, line in enumerate(made.lines)])
    growth.show([_grown(each) for each in made.growth])


def _line(key: int, line: Line) -> Row:
    row = {"key": key, "about": line.about.capitalize(), "name": line.name.capitalize()}
    return {**row, "working": line.working, "result": line.result}


def _grown(each: Grown) -> Row:
    return {
        "key": each.times,
        "times": "Today's" if each.times == 1 else f"{each.times} times that",
        "brokers": f"{each.brokers:,}",
        "disks": f"{each.disks:,}",
        "stored": bytes_text(each.stored_bytes),
        "cost": words.NOTHING if each.monthly_cost is None else f"{each.monthly_cost:,.0f}",
    }
