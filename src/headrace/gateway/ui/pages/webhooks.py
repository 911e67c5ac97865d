"""Webhooks: which topic is pushed where, how far each is, and what became of letters that nobody took."""

from typing import Any

from nicegui import ui

from headrace.gateway.ui import words
from headrace.gateway.ui.figures import group_lag
from headrace.gateway.ui.grid import Column, Grid, Row, acts, tag
from headrace.gateway.ui.live import attempt, keep_fresh
from headrace.gateway.ui.pieces import Panel, button, empty, head
from headrace.gateway.ui.watch import Watch
from headrace.gateway.ui.webhook_dialogs import ask_delete_webhook, ask_subscribe
from headrace.gateway.webhooks.webhooks import Webhooks

COLUMNS = (
    Column("topic", "Topic"),
    Column("url", "Goes to"),
    Column("behind", "Behind", "number"),
    Column("delivered", "Delivered here", "number"),
    Column("dead", "Dead letters here", "number"),
    Column("state", "State", "tags"),
    Column("acts", "", "acts"),
)


def webhooks(watch: Watch) -> None:
    if not watch.gateway.has(Webhooks):
        empty("webhook", "There are no webhooks here", "This gateway has no login of its own to keep them with.")
        return
    service = watch.gateway.part(Webhooks)
    with head("Webhooks"):
        button("Add webhook", lambda: ask_subscribe(watch), main=True)
    with Panel("All webhooks"):
        grid = Grid("Webhooks", COLUMNS, "")
        nothing = empty(
            "webhook",
            "No webhook yet",
            "A webhook sends every message of a topic to a URL: in order, signed, and again until it was taken.",
        )

    async def on_act(act: str, id: str) -> None:
        match act:
            case "pause":
                await attempt(service.set_state(id, "paused"), "Paused: nothing is lost meanwhile")
            case "resume":
                await attempt(service.set_state(id, "active"), "Goes on where it was paused")
            case "redrive":
                await attempt(service.redrive(id), "Its dead letters are delivered again")
            case "delete":
                ask_delete_webhook(watch, id)
        await tick()

    async def refresh() -> None:
        await service.until_loaded()
        subscriptions = await service.all()
        grid.visible, nothing.visible = bool(subscriptions), not subscriptions
        grid.show([_row(service.view(each), group_lag(watch.monitor, each.group)) for each in subscriptions])

    grid.on_act(on_act)
    grid.visible = False
    tick = keep_fresh(refresh)
    ui.timer(0, tick, once=True)


def _row(view: dict[str, Any], behind: int | None) -> Row:
    here = view["here"] or {}
    paused = view["state"] != "active"
    states = [tag(view["state"], "warn", view.get("state_reason", "")) if paused else tag("active", "good")]
    if here.get("trouble"):
        states.append(tag("trouble", "bad", str(here["trouble"])))
    if view["redrive"]:
        states.append(tag("redriving", "calm"))
    toggle = {"resume": "Resume"} if paused else {"pause": "Pause"}
    return {
        "key": view["id"],
        "topic": view["topic"],
        "url": view["callback_url"],
        "behind": words.count(behind),
        "delivered": words.count(here.get("delivered")),
        "dead": words.count(here.get("dead_letters")),
        "state": states,
        "acts": acts(**toggle, redrive="Redrive", delete="Delete"),
    }
