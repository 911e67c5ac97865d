"""Questions before something is done: a form, a plan to agree to, or a name to type where there is no way back."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from nicegui import ui

from headrace.gateway.ui.grid import Column, Grid, Row
from headrace.gateway.ui.pieces import button, tagged


@contextmanager
def dialog(title: str, wide: bool = False) -> Iterator[ui.dialog]:
    """Opens at once; gone from the page when it closes."""
    with ui.dialog() as box, ui.card().classes("hr-dialog wide" if wide else "hr-dialog"):
        tagged("h2", title)
        yield box
    box.on("hide", box.delete)
    box.open()


def answers(box: ui.dialog, act: str, deed: Callable[[], Awaitable[bool]], danger: bool = False) -> ui.button:
    """Cancel, or do it; closes when it was done."""

    async def on_click() -> None:
        do_it.props("loading")
        try:
            if await deed():
                box.close()
        finally:
            do_it.props(remove="loading")

    with tagged("div", classes="hr-doing"):
        ui.button("Cancel", on_click=box.close, color=None).props("flat no-caps")
        do_it = button(act, on_click, main=not danger, danger=danger)
    return do_it


def confirm_by_name(title: str, consequence: str, name: str, act: str, deed: Callable[[], Awaitable[bool]]) -> None:
    """A dialog before an act that cannot be undone: the name has to be typed."""
    with dialog(title) as box:
        tagged("p", consequence)
        typed = ui.input(f"Type {name} to go on").props("outlined autofocus autocomplete=off")
        do_it = answers(box, act, deed, danger=True)
        do_it.enabled = False
        typed.on_value_change(lambda event: do_it.set_enabled(event.value == name))


def agree_to_plan(
    title: str,
    text: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    act: str,
    deed: Callable[[], Awaitable[bool]],
) -> None:
    """A dialog that shows a plan, row by row, before it is carried out."""
    with dialog(title, wide=True) as box:
        tagged("p", text)
        Grid(title, columns, "Nothing would change.").show(rows)
        answers(box, act, deed).enabled = bool(rows)
