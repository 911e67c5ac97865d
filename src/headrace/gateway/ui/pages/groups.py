"""All consumer groups, with how far each is behind."""

from urllib.parse import quote

from nicegui import ui

from headrace.admin.groups import GroupListed
from headrace.gateway.ui import words
from headrace.gateway.ui.figures import group_lag
from headrace.gateway.ui.grid import Column, Paged, Row, Tone, link, matching, tag
from headrace.gateway.ui.live import keep_fresh
from headrace.gateway.ui.pieces import Panel, Tile, empty, head, tiles
from headrace.gateway.ui.watch import Watch

TONES: dict[str, Tone] = {"stable": "good", "empty": "", "dead": ""}


def groups(watch: Watch) -> None:
    columns = (
        Column("name", "Group", "link", lambda each: each.group),
        Column("type", "Kind", sort=lambda each: each.type),
        Column("lag", "Behind", "number", lambda each: group_lag(watch.monitor, each.group) or 0),
        Column("state", "State", "tags", lambda each: each.state),
    )
    with head("Groups"):
        pass
    with tiles():
        known, active, behind = Tile("Groups"), Tile("With members"), Tile("Behind, all together")
    with Panel("All groups") as panel:
        with panel.doing:
            search = ui.input(placeholder="Search groups", on_change=lambda: on_search())
            search.props('outlined dense clearable debounce=150 aria-label="Search groups"')
        table = Paged("Groups", columns, "No group is called that.", lambda each: _row(watch, each), by="name")
        nobody = empty("groups", "No group yet", "A group appears here when a consumer joins it, or commits an offset.")

    def on_search() -> None:
        table.first_page()
        show()

    def show() -> None:
        listed = watch.groups.last or []
        nobody.visible = not listed
        table.grid.visible = bool(listed)
        table.show(matching(listed, search.value or "", lambda each: each.group))
        known.show(words.count(len(listed)))
        active.show(words.count(sum(each.state not in ("empty", "dead") for each in listed)))
        behind.show(words.short_count(sum(group_lag(watch.monitor, each.group) or 0 for each in listed)), "messages")

    async def refresh() -> None:
        await watch.groups.get()
        show()

    show()
    keep_fresh(refresh)


def group_href(group: str) -> str:
    """A group may be called anything, a slash included."""
    return f"/ui/group?name={quote(group, safe='')}"


def state_tag(state: str) -> dict[str, str]:
    return tag(state, TONES.get(state, "warn"))


def _row(watch: Watch, each: GroupListed) -> Row:
    return {
        "key": each.group,
        "name": link(each.group, group_href(each.group)),
        "type": each.type or words.NOTHING,
        "lag": words.count(group_lag(watch.monitor, each.group)),
        "state": [state_tag(each.state)],
    }
