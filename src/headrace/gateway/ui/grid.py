"""A table on the page: the server sorts, searches and cuts into pages; the browser only shows what it is given.

`Grid` is the table itself, `Paged` puts a page number below one. A cell is finished text, or what `link`, `tag`, `bar` or
`acts` makes.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from headrace.gateway.ui import words

Kind = Literal["text", "mono", "stamp", "number", "link", "tags", "bar", "acts"]
Tone = Literal["", "good", "warn", "bad", "calm"]
Row = dict[str, Any]

PAGE_ROWS = 50


class Column(NamedTuple):
    name: str
    label: str
    kind: Kind = "text"
    sort: Callable[[Any], Any] | None = None
    """The sort key of a column, taken of the thing that a row shows."""
    width: str = ""


def link(text: str, href: str) -> dict[str, str]:
    return {"text": text, "href": href}


def tag(text: str, tone: Tone = "", title: str = "") -> dict[str, str]:
    return {"text": text, "tone": tone, "title": title}


def bar(share: float, text: str, tone: Tone = "") -> dict[str, Any]:
    return {"share": share, "text": text, "tone": tone}


def acts(**labels: str) -> list[dict[str, str]]:
    return [{"name": name, "label": label} for name, label in labels.items()]


class Grid(Element, component="grid.js"):
    def __init__(self, label: str, columns: Sequence[Column], none: str) -> None:
        """`none` is what stands there without any rows. Each row needs a `key` of its own."""
        super().__init__()
        shown = [
            {
                "name": each.name,
                "label": each.label,
                "kind": each.kind,
                "sortable": bool(each.sort),
                "width": each.width,
            }
            for each in columns
        ]
        self.props.update(label=label, columns=shown, rows=[], none=none, sorted="", descending=False, openable=False)

    def show(self, rows: Sequence[Row]) -> None:
        if self.props["rows"] != rows:
            self.props["rows"] = list(rows)
            self.update()

    def on_open(self, handler: Callable[[str], Any]) -> None:
        """A row was chosen, by a click or the Enter key."""
        self.props["openable"] = True
        self.on("open", lambda event: handler(event.args))

    def on_act(self, handler: Callable[[str, str], Any]) -> None:
        """A button in a row: its name, and the row's key."""
        self.on("act", lambda event: handler(event.args["act"], event.args["key"]))


class Paged:
    """Sorted, a page at a time; `draw` makes the row of one thing, and is asked for those of this page only."""

    def __init__(
        self,
        label: str,
        columns: Sequence[Column],
        none: str,
        draw: Callable[[Any], Row],
        by: str,
        descending: bool = False,
    ) -> None:
        self._columns = {each.name: each for each in columns}
        self._draw, self._by, self._descending = draw, by, descending
        self._things: Sequence[Any] = ()
        self._page = 0
        self.grid = Grid(label, columns, none)
        self.grid.on("sort", self._on_sort)
        with ui.element("div").classes("hr-pager") as self._pager:
            self._back = ui.button("Previous", on_click=lambda: self._turn(-1), color=None).props("flat dense no-caps")
            self._place = ui.label().classes("hr-muted")
            self._on = ui.button("Next", on_click=lambda: self._turn(1), color=None).props("flat dense no-caps")
        self._order()

    def show(self, things: Sequence[Any]) -> None:
        self._things = things
        self._redraw()

    def first_page(self) -> None:
        self._page = 0

    def _on_sort(self, event: GenericEventArguments) -> None:
        self._descending = event.args == self._by and not self._descending
        self._by = event.args
        self._order()
        self._redraw()

    def _order(self) -> None:
        self.grid.props.update(sorted=self._by, descending=self._descending)

    def _turn(self, pages: int) -> None:
        self._page += pages
        self._redraw()

    def _redraw(self) -> None:
        key = self._columns[self._by].sort
        things = sorted(self._things, key=key, reverse=self._descending) if key else list(self._things)
        self._page = max(0, min(self._page, (len(things) - 1) // PAGE_ROWS))
        first = self._page * PAGE_ROWS
        page = things[first : first + PAGE_ROWS]
        self.grid.show([self._draw(each) for each in page])
        self.grid.update()
        self._pager.visible = len(things) > PAGE_ROWS
        self._place.text = f"{words.count(first + 1)} to {words.count(first + len(page))} of {words.count(len(things))}"
        self._back.enabled = self._page > 0
        self._on.enabled = first + len(page) < len(things)


def matching(things: Sequence[Any], wanted: str, name: Callable[[Any], str]) -> list[Any]:
    """Things whose name has every word of the search in it, in any case."""
    parts = wanted.lower().split()
    return [each for each in things if all(part in name(each).lower() for part in parts)] if parts else list(things)
