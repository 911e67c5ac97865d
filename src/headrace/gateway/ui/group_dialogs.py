"""The reset of a group, first as a plan; and the end of a group."""

from nicegui import ui

from headrace.admin.groups import delete_groups
from headrace.admin.reset import Chosen, Reset, ResetTarget, apply_reset, plan_reset
from headrace.gateway.ui import words
from headrace.gateway.ui.dialogs import agree_to_plan, answers, confirm_by_name, dialog
from headrace.gateway.ui.grid import Column, Row
from headrace.gateway.ui.live import TROUBLE, attempt, complain
from headrace.gateway.ui.moments import milliseconds
from headrace.gateway.ui.pieces import tagged
from headrace.gateway.ui.topic_view import topics_of
from headrace.gateway.ui.watch import Watch

TARGETS = {
    "earliest": "The oldest message",
    "latest": "The newest: skip what is there",
    "time": "A moment",
    "offset": "An offset",
    "shift": "Forward or back by a number",
}
PLAN = (
    Column("topic", "Topic"),
    Column("partition", "Partition", "number"),
    Column("before", "Now", "number"),
    Column("after", "Then", "number"),
    Column("skipped", "Skipped", "number"),
    Column("repeated", "Read again", "number"),
)
EVERY = "Every topic it has committed"


def ask_reset(watch: Watch, group: str) -> None:
    with dialog(f"Where should {group} go on?") as box:
        tagged("p", "Nothing changes yet: first you see the plan. The group must have no members.", "hr-muted")
        with tagged("div", classes="hr-fields"):
            kind = ui.select(TARGETS, value="earliest", label="Go to").props("outlined")
            moment = ui.input("Moment").props("outlined type=datetime-local step=1 stack-label")
            moment.bind_visibility_from(kind, "value", value="time")
            number = ui.number("Number", value=0, precision=0).props("outlined")
            number.bind_visibility_from(kind, "value", backward=lambda value: value in ("offset", "shift"))
            names = sorted(topics_of(watch.cluster.last)) if watch.cluster.last else []
            topic = ui.select([EVERY, *names], value=EVERY, label="Topic", with_input=True).props("outlined")

        async def plan() -> bool:
            value = milliseconds(moment.value) if kind.value == "time" else int(number.value or 0)
            chosen: Chosen = {} if topic.value == EVERY else {topic.value: None}
            try:
                resets = await plan_reset(watch.gateway.admin, group, chosen, ResetTarget(kind.value, value))
            except TROUBLE as error:
                complain(error)
                return False
            with box.parent_slot.parent if box.parent_slot else box:
                _agree(watch, group, resets)
            return True

        answers(box, "Show the plan", plan)


def _agree(watch: Watch, group: str, resets: list[Reset]) -> None:
    skipped, repeated = sum(each.skipped for each in resets), sum(each.repeated for each in resets)
    text = f"{words.of(skipped, 'message')} would be skipped, {words.count(repeated)} read again."

    async def apply() -> bool:
        return await attempt(apply_reset(watch.gateway.admin, group, resets), f"{group} goes on from there")

    agree_to_plan(f"Reset {group}", text, PLAN, [_row(each) for each in resets], "Reset offsets", apply)


def _row(reset: Reset) -> Row:
    return {
        "key": str(reset.id),
        "topic": reset.id.topic,
        "partition": reset.id.partition,
        "before": words.count(reset.before),
        "after": words.count(reset.after),
        "skipped": words.count(reset.skipped),
        "repeated": words.count(reset.repeated),
    }


def ask_delete_group(watch: Watch, group: str) -> None:
    async def delete() -> bool:
        done = await attempt(delete_groups(watch.gateway.admin, [group]), f"Group {group} is deleted")
        if done:
            watch.groups.forget()
            ui.navigate.to("/ui/groups")
        return done

    consequence = "It forgets how far it has read. Its messages stay where they are."
    confirm_by_name(f"Delete {group}?", consequence, group, "Delete group", delete)
