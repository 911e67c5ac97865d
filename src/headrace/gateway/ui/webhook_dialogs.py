"""A new webhook, whose secret is shown once; and the end of one."""

from nicegui import ui
from pydantic import ValidationError

from headrace.gateway.ui.dialogs import answers, confirm_by_name, dialog
from headrace.gateway.ui.live import TROUBLE, attempt, complain
from headrace.gateway.ui.pieces import Text, tagged
from headrace.gateway.ui.topic_view import topics_of
from headrace.gateway.ui.watch import Watch
from headrace.gateway.webhooks.routes import Subscribe
from headrace.gateway.webhooks.subscription import Subscription
from headrace.gateway.webhooks.webhooks import Webhooks

STARTS = {"latest": "With the next message", "earliest": "With the oldest message"}


def ask_subscribe(watch: Watch) -> None:
    service = watch.gateway.part(Webhooks)
    page = ui.context.client.content
    with dialog("Add a webhook") as box:
        with tagged("div", classes="hr-fields"):
            known = topics_of(watch.cluster.last).values() if watch.cluster.last else ()
            names = sorted(each.name for each in known if not each.is_internal)
            topic = ui.select(names, label="Topic", with_input=True).props("outlined")
            url = ui.input("URL").props('outlined placeholder="https://" stack-label')
            start = ui.select(STARTS, value="latest", label="Begin").props("outlined")

        async def subscribe() -> bool:
            try:
                fields = {"topic": topic.value or "", "callback_url": url.value or "", "start": start.value}
                made = await service.subscribe(Subscribe.model_validate(fields).wanted())
            except ValidationError:
                ui.notify("Choose a topic, and a URL to send its messages to.", type="negative")
                return False
            except TROUBLE as error:
                complain(error)
                return False
            with page:
                _show_secret(made)
            return True

        answers(box, "Add webhook", subscribe)


def _show_secret(made: Subscription) -> None:
    with dialog("Keep this secret now") as box:
        tagged("p", "It signs every body, so that the receiver knows that it came from here. It is not shown again.")
        with tagged("pre", classes="hr-payload"):
            Text(made.secret)
        with tagged("div", classes="hr-doing"):
            ui.button("Copy", on_click=lambda: ui.clipboard.write(made.secret), color=None).props("flat no-caps")
            ui.button("I have it", on_click=box.close, color=None).props("unelevated").classes("hr-main-act")


def ask_delete_webhook(watch: Watch, id: str) -> None:
    service = watch.gateway.part(Webhooks)

    async def delete() -> bool:
        return await attempt(service.delete(id), "The webhook is deleted")

    consequence = "Nothing more is sent. Its dead letters stay in their topic."
    confirm_by_name("Delete this webhook?", consequence, id, "Delete webhook", delete)
