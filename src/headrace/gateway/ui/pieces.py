"""Pieces that every page is made of: its head, tiles, panels, notices and empty states.

Texts are children or properties of elements, never markup: whatever they say is shown as it is.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.element import Element

from headrace.gateway.ui.grid import Tone


def tagged(name: str, text: str = "", classes: str = "") -> Element:
    """An element by its HTML name, with text in it."""
    element = ui.element(name).classes(classes)
    if text:
        with element:
            Text(text)
    return element


class Text(ui.label):
    """Text in line with its neighbours, that may change."""

    def __init__(self, text: str = "", classes: str = "") -> None:
        super().__init__(text)
        self.tag = "span"
        self.classes(classes)


def anchor(text: str, href: str, classes: str = "") -> Element:
    element = tagged("a", text, classes)
    element.props["href"] = href
    return element


def button(text: str, on_click: Callable[[], Any], main: bool = False, danger: bool = False) -> ui.button:
    look = "hr-main-act" if main else "hr-danger" if danger else "hr-plain"
    return ui.button(text, on_click=on_click, color=None).props("unelevated no-caps").classes(look)


@contextmanager
def head(title: str, parent: tuple[str, str] | None = None) -> Iterator[None]:
    """The page's name, with what can be done beside it; `parent` is where it belongs, as (text, href)."""
    ui.page_title(f"{title} · Headrace")
    if parent:
        with tagged("nav", classes="hr-crumb").props('aria-label="Where you are"'):
            anchor(*parent)
    with tagged("div", classes="hr-head"):
        tagged("h1", title)
        with tagged("div", classes="hr-doing"):
            yield


class Panel:
    """A box with a name. `with panel.body():` fills it, `with panel.doing:` puts controls beside the name."""

    def __init__(self, title: str) -> None:
        self.box = tagged("section", classes="hr-panel")
        self.box.props["aria-label"] = title
        with self.box, tagged("header"):
            tagged("h2", title)
            self.note = Text(classes="hr-muted")
            self.doing = tagged("div", classes="hr-doing")

    def body(self) -> Element:
        with self.box:
            return tagged("div", classes="hr-body")

    def __enter__(self) -> "Panel":
        self.box.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.box.__exit__()


class Tile:
    """One number with its name and a remark."""

    def __init__(self, name: str) -> None:
        with tagged("dl", classes="hr-tile").style("margin: 0") as self._box:
            tagged("dt", name)
            with tagged("dd"):
                self._value = Text("–")
            self._note = tagged("small")
            with self._note:
                self._remark = Text()

    def show(self, value: str, remark: str = "", tone: Tone = "") -> None:
        self._value.text = value
        self._remark.text = remark
        self._box.classes(replace=f"hr-tile {tone}".strip())


def tiles() -> Element:
    return tagged("div", classes="hr-tiles")


class Notice:
    """A sentence that stands above the page while it is true; announced to screen readers."""

    def __init__(self) -> None:
        with tagged("div", classes="hr-notice") as self._box:
            self._text = Text()
        self._box.props["role"] = "status"
        self._box.visible = False

    def show(self, text: str, tone: Tone = "") -> None:
        self._text.text = text
        self._box.classes(tone, remove="good warn bad")
        self._box.visible = bool(text)


def empty(icon: str, title: str, text: str) -> Element:
    with tagged("div", classes="hr-empty") as box:
        ui.icon(icon).props("aria-hidden=true")
        tagged("h2", title)
        tagged("p", text)
    return box


def facts() -> Element:
    return tagged("dl", classes="hr-facts")


def fact(name: str, text: str = "") -> Text:
    tagged("dt", name)
    with tagged("dd"):
        return Text(text)
