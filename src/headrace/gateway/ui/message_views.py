"""A message as a row, and opened: facts, key, value and headers, each as text, JSON or hex; and one to be written."""

from collections.abc import Sequence

from nicegui import ui

from headrace.client.produce.outgoing import Headers, Outgoing
from headrace.gateway.messages.outgoing import render_line
from headrace.gateway.messages.store import MessageStore, failure
from headrace.gateway.ui import payload, words
from headrace.gateway.ui.dialogs import answers, dialog
from headrace.gateway.ui.grid import Column, Row, tag
from headrace.gateway.ui.live import attempt
from headrace.gateway.ui.pieces import Text, fact, facts, tagged
from headrace.gateway.ui.reading import FoundMessage
from headrace.gateway.ui.watch import Watch

COLUMNS = (
    Column("partition", "Partition", "number", width="1%"),
    Column("offset", "Offset", "number", width="1%"),
    Column("time", "Time", "stamp", width="1%"),
    Column("message_key", "Key", "mono", width="20%"),
    Column("value", "Value", "mono", width="80%"),
    Column("headers", "Headers", "tags", width="1%"),
)
FORMS = {"json": "JSON", "text": "Text", "hex": "Hex"}
# About as much as a topic takes, unless it is told to; and as a page can send.
TYPED_MAX = 1_000_000


def message_row(message: FoundMessage) -> Row:
    record = message.record
    return {
        "key": message.key,
        "partition": message.id.partition,
        "offset": words.count(record.offset),
        "time": words.moment(record.timestamp),
        "message_key": payload.preview(record.key) if record.key is not None else words.NOTHING,
        "value": payload.preview(record.value),
        "headers": [tag(name) for name, _ in record.headers[:3]],
    }


def open_message(message: FoundMessage) -> None:
    record = message.record
    with dialog(f"{message.id.topic}, partition {message.id.partition}, offset {record.offset}", wide=True) as box:
        with facts():
            fact("Written", words.moment(record.timestamp))
            fact("Size", f"{words.size(len(record.key or b''))} key, {words.size(len(record.value or b''))} value")
        if record.key is not None:
            _payload("Key", record.key)
        if record.value is None:
            tagged("p", "No value: this deletes the key when the topic is compacted.", "hr-muted")
        else:
            _payload("Value", record.value)
        if record.headers:
            tagged("h2", "Headers").style("font-size: 14.5px")
            with facts():
                for name, value in record.headers:
                    fact(name, payload.preview(value))
        with tagged("div", classes="hr-doing"):
            ui.button("Close", on_click=box.close, color=None).props("flat")


def _payload(name: str, raw: bytes) -> None:
    with tagged("div", classes="hr-form"):
        tagged("h2", name).style("font-size: 14.5px")
        form = ui.toggle(FORMS, value=payload.natural_form(raw)).props("unelevated no-caps")
        form.props("toggle-color=hr-chosen toggle-text-color=hr-chosen-ink")
        form.props["aria-label"] = f"How to show the {name.lower()}"
    with tagged("pre", classes="hr-payload").props("tabindex=0"):
        text = Text(payload.shown(raw, form.value))
    form.on_value_change(lambda event: text.set_text(payload.shown(raw, event.value)))


def export(messages: Sequence[FoundMessage], topic: str) -> None:
    """Downloads the messages as the lines that REST takes, so that they can be posted again."""
    lines = b"".join(render_line(message.record) for message in messages)
    ui.download.content(lines, f"{topic}.ndjson", "application/x-ndjson")


def ask_produce(watch: Watch, topic: str, partitions: int) -> None:
    with dialog(f"Write a message to {topic}", wide=True) as box:
        with tagged("div", classes="hr-fields"):
            with tagged("div", classes="hr-form"):
                key = ui.input("Key").props('outlined placeholder="None" stack-label').style("flex: 1")
                choice = {-1: "By key", **{index: str(index) for index in range(partitions)}}
                partition = ui.select(choice, value=-1, label="Partition").props("outlined").style("min-width: 120px")
            value = ui.textarea("Value").props(f"outlined autofocus maxlength={TYPED_MAX}").classes("hr-mono")
            headers = ui.textarea("Headers, one to a line").props(
                'outlined autogrow placeholder="name: value" stack-label'
            )
            nothing = ui.switch("No value (deletes the key when the topic is compacted)")

        async def send() -> bool:
            wanted = Outgoing(
                None if nothing.value else (value.value or "").encode(),
                key.value.encode() if key.value else None,
                parse_headers(headers.value or ""),
                partition.value,
            )
            return await attempt(_store(watch, topic, wanted), "Stored on every in-sync replica")

        answers(box, "Write message", send)


async def _store(watch: Watch, topic: str, message: Outgoing) -> None:
    receipt = await watch.gateway.part(MessageStore).store(topic, [message])
    for _, error in receipt.failures:
        raise failure(topic, error)


def parse_headers(text: str) -> Headers | None:
    pairs = [line.partition(":") for line in text.splitlines() if line.strip()]
    return [(name.strip(), value.strip().encode()) for name, _, value in pairs] or None
