"""The frame around every page: where one can go, how the cluster is, and the theme. Pages change inside it, unreloaded."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import NamedTuple

from nicegui import ui
from nicegui.element import Element

from headrace import __version__
from headrace.admin.survey import Survey
from headrace.gateway.callers.reception import LOGOUT
from headrace.gateway.callers.visits import Visit
from headrace.gateway.ui import words
from headrace.gateway.ui.grid import Tone
from headrace.gateway.ui.live import TROUBLE
from headrace.gateway.ui.pages.api import api
from headrace.gateway.ui.pages.brokers import brokers
from headrace.gateway.ui.pages.group import group
from headrace.gateway.ui.pages.groups import groups
from headrace.gateway.ui.pages.messages import messages
from headrace.gateway.ui.pages.overview import overview
from headrace.gateway.ui.pages.pipelines import pipelines
from headrace.gateway.ui.pages.planner import planner
from headrace.gateway.ui.pages.topic import topic
from headrace.gateway.ui.pages.topics import topics
from headrace.gateway.ui.pages.webhooks import webhooks
from headrace.gateway.ui.pieces import Text, anchor, tagged
from headrace.gateway.ui.watch import Watch
from headrace.gateway.webhooks.webhooks import Webhooks

# A page built from what was known a moment ago is there at once; it is brought up to date when it is open.
FIRST_AGE_SECONDS_MAX = 15.0
FIRST_WAIT_SECONDS_MAX = 1.5
_WAVE = "c3.3 0 3.3 3 6.7 3s3.3-3 6.6-3 3.4 3 6.7 3"
_WAVES = {6: "1", 11: ".7", 16: ".4"}


class PageLink(NamedTuple):
    name: str
    path: str
    icon: str
    part: type | None = None
    """The part that it needs of the gateway, which may be without it."""

    def holds(self, path: str) -> bool:
        """A single thing of a place has its path without the plural, or below it."""
        page = path.partition("?")[0]
        below = self.path != "/" and page.startswith(f"{self.path}/")
        return below or page in (self.path, self.path.removesuffix("s"))


PLACES = (
    PageLink("Overview", "/", "dashboard"),
    PageLink("Topics", "/ui/topics", "dns"),
    PageLink("Messages", "/ui/messages", "mail"),
    PageLink("Groups", "/ui/groups", "groups"),
    PageLink("Brokers", "/ui/brokers", "storage"),
    PageLink("Webhooks", "/ui/webhooks", "webhook", Webhooks),
    PageLink("Pipelines", "/ui/pipelines", "account_tree"),
    PageLink("Planner", "/ui/planner", "calculate"),
    PageLink("API", "/docs", "api"),
)
ROUTES: dict[str, Callable[..., object]] = {
    "/": overview,
    "/ui/topics": topics,
    "/ui/topics/{name}": topic,
    "/ui/messages": messages,
    "/ui/groups": groups,
    "/ui/group": group,
    "/ui/brokers": brokers,
    "/ui/webhooks": webhooks,
    "/ui/pipelines": pipelines,
    "/ui/planner": planner,
    "/docs": api,
}


async def shell(watch: Watch, visit: Visit | None = None) -> None:
    with contextlib.suppress(*TROUBLE):
        await asyncio.wait_for(watch.look_at_rights(), FIRST_WAIT_SECONDS_MAX)
    with contextlib.suppress(*TROUBLE):
        await asyncio.wait_for(watch.cluster.get(FIRST_AGE_SECONDS_MAX), FIRST_WAIT_SECONDS_MAX)
    page = ui.context.client.content.parent_slot
    if page is not None:
        # Quasar's page is a main landmark around everything; ours is the part that changes.
        page.parent.props("role=presentation")
    with tagged("div", classes="hr-frame"):
        _side(watch, visit)
        with tagged("main", classes="hr-main") as main:
            ui.sub_pages(ROUTES, data={"watch": watch})
    ui.skip_link("Skip to the content", target=main)


def _side(watch: Watch, visit: Visit | None) -> None:
    with tagged("nav", classes="hr-side").props('aria-label="Pages"'):
        with anchor("", "/", "hr-brand"):
            _mark()
            Text("Headrace")
        offered = [place for place in PLACES if place.part is None or watch.gateway.has(place.part)]
        links = {place: _place(place) for place in offered}
        with tagged("div", classes="hr-foot"):
            _health(watch)
            theme = tagged("button", "Theme", "hr-theme").props("type=button")
            theme.on("click", js_handler="() => hrTheme.next()")
            if visit is not None:
                _log_out(visit)
            Text(f"Version {__version__}", "hr-muted")
    ui.run_javascript("hrTheme.apply()")
    router = ui.context.client.sub_pages_router
    router.on_path_changed(lambda path: _mark_current(links, path))
    _mark_current(links, router.current_path)


def _log_out(visit: Visit) -> None:
    """A form and no script: it works whatever became of the page's connection."""
    with tagged("form", classes="hr-log-out").props(f'method=post action="{LOGOUT}"'):
        Text(visit.name, "hr-muted")
        tagged("input").props(f'type=hidden name=token value="{visit.token}"')
        tagged("button", "Log out").props("type=submit")


def _mark() -> None:
    with tagged("svg").props('viewBox="0 0 24 24" fill=none stroke=currentColor stroke-width=2.2 aria-hidden=true'):
        for depth, opacity in _WAVES.items():
            tagged("path").props(f'd="M2 {depth}{_WAVE}" opacity={opacity} stroke-linecap=round')


def _place(place: PageLink) -> Element:
    with anchor("", place.path, "hr-place") as link:
        ui.icon(place.icon).props("aria-hidden=true")
        Text(place.name)
    return link


def _mark_current(links: dict[PageLink, Element], path: str) -> None:
    for place, link in links.items():
        if place.holds(path):
            link.props["aria-current"] = "page"
        else:
            link.props.pop("aria-current", None)
        link.update()


def _health(watch: Watch) -> None:
    text = Text(classes="hr-health")
    text.props["role"] = "status"

    def show(said: str, tone: Tone) -> None:
        text.text = said
        text.classes(replace=f"hr-health {tone}")

    async def look() -> None:
        try:
            show(*health(await watch.cluster.get()))
        except TROUBLE:
            show("No broker answers", "bad")

    if watch.cluster.last:
        show(*health(watch.cluster.last))
    ui.timer(2.0, look)


def health(seen: Survey) -> tuple[str, Tone]:
    """The worst that is true of the cluster, in a few words."""
    dead = [broker.id for broker in seen.brokers.values() if not broker.is_alive]
    leaderless = sum(part.leader is None for part in seen.partitions.values())
    behind = sum(part.is_under_replicated for part in seen.partitions.values())
    if leaderless:
        return f"{words.of(leaderless, 'partition')} without leader", "bad"
    if dead:
        return f"Broker {words.listed(dead)} is down", "bad"
    if behind:
        return f"{words.of(behind, 'partition')} behind", "warn"
    return f"{words.of(len(seen.live), 'broker')}, all well", "good"
