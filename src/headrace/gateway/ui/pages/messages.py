"""Messages of a topic: from the end, an offset or a time, with a search; opened, written and exported."""

import contextlib
from collections.abc import Mapping, Sequence

from nicegui import ui

from headrace.base.ids import TopicPartition
from headrace.gateway.ui import words
from headrace.gateway.ui.grid import Grid
from headrace.gateway.ui.live import TROUBLE, answered, sentence
from headrace.gateway.ui.message_views import COLUMNS, ask_produce, export, message_row, open_message
from headrace.gateway.ui.moments import milliseconds
from headrace.gateway.ui.pieces import Notice, Panel, button, empty, head, tagged
from headrace.gateway.ui.reading import HELD_BYTES_MAX, FoundMessage, Look, Query, read_messages
from headrace.gateway.ui.topic_view import TopicView
from headrace.gateway.ui.watch import Watch

STARTS = {"latest": "The newest", "earliest": "The oldest", "offset": "Offset", "time": "Time"}
LIMITS = (20, 100, 500, 2_000)


async def messages(watch: Watch, topic: str = "") -> None:
    topics = await answered(watch.topics(topic))
    if topics is not None:
        _Browser(watch, topic, topics)


class _Browser:
    def __init__(self, watch: Watch, topic: str, topics: Mapping[str, TopicView]) -> None:
        self._watch = watch
        self._found: dict[str, FoundMessage] = {}
        self._topics = topics
        with head("Messages"):
            self._write = button("Write a message", self._on_write)
            self._export = button("Export", lambda: export(list(self._found.values()), self._topic.value))
        self._notice = Notice()
        with Panel("Look for"), tagged("div", classes="hr-body"), tagged("div", classes="hr-form"):
            self._form(topic)
        with Panel("Messages") as self._panel:
            self._grid = Grid("Messages", COLUMNS, "No message was found there.")
            self._grid.on_open(lambda key: open_message(self._found[key]))
            self._hint = empty("mail", "Choose a topic", "Its newest messages are shown here; click one to open it.")
        self._show(None)
        if topic:
            ui.timer(0, self._read, once=True)

    def _form(self, topic: str) -> None:
        names = [name for name in self._topics if not self._topics[name].is_internal or name == topic]
        chosen = topic if topic in names else None
        self._topic = ui.select(names, value=chosen, label="Topic", with_input=True, on_change=self._on_topic)
        self._topic.props("outlined dense options-dense").style("flex: 2 1 240px")
        self._partition = ui.select({-1: "All"}, value=-1, label="Partition").props("outlined dense options-dense")
        self._partition.style("flex: 0 0 110px")
        self._start = ui.select(STARTS, value="latest", label="From", on_change=self._on_start)
        self._start.props("outlined dense options-dense").style("flex: 0 0 130px")
        self._offset = ui.number("Offset", value=0, min=0, precision=0).props("outlined dense").style("flex: 0 0 130px")
        self._time = ui.input("Time").props("outlined dense type=datetime-local step=1 stack-label")
        self._search = ui.input("Search in key, value, headers").props("outlined dense clearable")
        self._search.style("flex: 2 1 220px")
        self._limit = ui.select(list(LIMITS), value=100, label="Messages").props("outlined dense options-dense")
        self._limit.style("flex: 0 0 120px")
        button("Read", self._read, main=True)
        for field in (self._search, self._offset, self._time):
            field.on("keydown.enter", self._read)
        self._on_start()
        self._on_topic()

    def _on_topic(self) -> None:
        self._offer_partitions(-1)
        self._write.set_enabled(self._topic.value in self._topics)

    def _offer_partitions(self, chosen: int) -> None:
        count = len(self._topics[self._topic.value].partitions) if self._topic.value in self._topics else 0
        self._partition.set_options({-1: "All", **{index: str(index) for index in range(count)}}, value=chosen)

    async def _look_again(self) -> None:
        """The topic may have got more partitions since; one that is gone is left to be refused."""
        self._topics = {**self._topics, **await self._watch.topics(self._topic.value)}
        self._offer_partitions(self._partition.value)

    def _on_start(self) -> None:
        self._offset.visible = self._start.value == "offset"
        self._time.visible = self._start.value == "time"

    async def _on_write(self) -> None:
        with contextlib.suppress(*TROUBLE):
            await self._look_again()
        ask_produce(self._watch, self._topic.value, len(self._topics[self._topic.value].partitions))

    async def _read(self) -> None:
        if self._topic.value not in self._topics:
            return
        self._panel.note.text = "Reading…"
        try:
            await self._look_again()
            look = await read_messages(self._watch.gateway.client, self._query())
        except TROUBLE as error:
            self._notice.show(sentence(error), "bad")
            self._panel.note.text = ""
            return
        self._notice.show("")
        self._show(look)

    def _query(self) -> Query:
        topic, partition = self._topic.value, self._partition.value
        # None: it was of a topic that is another one now.
        is_one = partition is not None and partition >= 0
        chosen: Sequence[int] = [partition] if is_one else range(len(self._topics[topic].partitions))
        number = int(self._offset.value or 0) if self._start.value == "offset" else milliseconds(self._time.value)
        ids = [TopicPartition(topic, index) for index in chosen]
        return Query(ids, self._start.value, number, self._search.value or "", self._limit.value)

    def _show(self, look: Look | None) -> None:
        self._hint.visible = look is None
        self._grid.visible = look is not None
        self._found = {message.key: message for message in look.messages} if look else {}
        self._grid.show([message_row(message) for message in self._found.values()])
        self._export.set_enabled(bool(self._found))
        if look:
            self._panel.note.text = _summary(look)


def _summary(look: Look) -> str:
    text = f"{words.of(len(look.messages), 'message')}, {words.count(look.scanned)} read"
    if look.is_heavy:
        text += f"; a page holds no more than {words.size(HELD_BYTES_MAX)}"
    if look.is_cut:
        text += "; there is more than one look may search"
    return text
