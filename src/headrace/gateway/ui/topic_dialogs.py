"""Making, changing and deleting topics, as forms."""

from nicegui import ui

from headrace.admin.admin import TOPIC, Resource
from headrace.admin.configs import Config
from headrace.admin.topics import add_partitions, create_topic, delete_topic
from headrace.gateway.ui.dialogs import answers, confirm_by_name, dialog
from headrace.gateway.ui.live import attempt
from headrace.gateway.ui.pieces import button, tagged
from headrace.gateway.ui.watch import Watch

CLEANUP = {"": "Broker's default", "delete": "Delete old messages", "compact": "Keep the latest of each key"}


def ask_create(watch: Watch) -> None:
    with dialog("Create a topic") as box:
        with tagged("div", classes="hr-fields"):
            name = ui.input("Name").props('outlined autofocus hint="Letters, digits, dots, dashes and underscores"')
            with tagged("div", classes="hr-form"):
                partitions = ui.number("Partitions", value=3, min=1, precision=0).props("outlined")
                replicas = ui.number("Replicas", min=1, precision=0).props('outlined placeholder="Default" stack-label')
            cleanup = ui.select(CLEANUP, value="", label="What happens to old messages").props("outlined")
            hours = ui.number("Keep messages for (hours)", min=0).props('outlined placeholder="Default" stack-label')

        async def create() -> bool:
            configs = {"cleanup.policy": cleanup.value or "", "retention.ms": _milliseconds(hours.value)}
            wanted = {key: value for key, value in configs.items() if value}
            deed = create_topic(
                watch.gateway.admin, name.value.strip(), _whole(partitions.value), _whole(replicas.value), wanted
            )
            if not await attempt(deed, f"Topic {name.value.strip()} is there"):
                return False
            watch.cluster.forget()
            ui.navigate.to(f"/ui/topics/{name.value.strip()}")
            return True

        answers(box, "Create topic", create)


def ask_partitions(watch: Watch, topic: str, now: int) -> None:
    with dialog(f"More partitions for {topic}") as box:
        tagged("p", f"It has {now}. A topic never gets fewer, and keys may go to other partitions afterwards.")
        total = ui.number("Partitions afterwards", value=now + 1, min=now + 1, precision=0).props("outlined autofocus")

        async def add() -> bool:
            wanted = _whole(total.value) or now
            done = await attempt(add_partitions(watch.gateway.admin, topic, wanted), f"{topic} has {wanted} partitions")
            watch.cluster.forget()
            return done

        answers(box, "Add partitions", add)


def ask_config(watch: Watch, topic: str, config: Config) -> None:
    with dialog(config.name) as box:
        if config.documentation:
            tagged("p", config.documentation, "hr-muted")
        value = ui.input("Value", value=config.value or "").props("outlined autofocus")

        async def alter(wanted: str | None) -> bool:
            deed = watch.gateway.admin.alter_configs({Resource(TOPIC, topic): {config.name: wanted}})
            return await attempt(deed, f"{config.name} is changed")

        async def reset() -> None:
            if await alter(None):
                box.close()

        if config.source == "topic":
            button("Back to the default", reset).style("align-self: start")
        answers(box, "Change", lambda: alter(value.value))


def ask_delete(watch: Watch, topic: str) -> None:
    async def delete() -> bool:
        done = await attempt(delete_topic(watch.gateway.admin, topic), f"Topic {topic} is deleted")
        if done:
            watch.cluster.forget()
            ui.navigate.to("/ui/topics")
        return done

    consequence = "All of its messages go with it, on every broker. There is no way back."
    confirm_by_name(f"Delete {topic}?", consequence, topic, "Delete topic", delete)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _milliseconds(hours: float | None) -> str:
    return "" if hours is None else str(int(hours * 3_600_000))
