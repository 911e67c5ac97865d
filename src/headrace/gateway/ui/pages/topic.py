"""One topic: its partitions and who holds them, what comes in, its settings, and its live end."""

from collections import deque
from collections.abc import Callable, Mapping

from nicegui import ui

from headrace.admin.admin import TOPIC, Resource
from headrace.admin.configs import Config, describe_configs
from headrace.admin.survey import PartitionSeen
from headrace.admin.topics import offset_ranges
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.gateway.rights import Right, topic_operations
from headrace.gateway.ui import words
from headrace.gateway.ui.chart import Chart
from headrace.gateway.ui.figures import BYTES_IN, BYTES_OUT, RECORDS_IN, lines, topic_series
from headrace.gateway.ui.grid import Column, Grid, Row, acts, bar, tag
from headrace.gateway.ui.live import answered, keep_fresh
from headrace.gateway.ui.message_views import COLUMNS as MESSAGE_COLUMNS
from headrace.gateway.ui.message_views import ask_produce, message_row, open_message
from headrace.gateway.ui.pieces import Panel, Tile, anchor, button, empty, head, tagged, tiles
from headrace.gateway.ui.reading import HELD_BYTES_MAX, FoundMessage
from headrace.gateway.ui.tail import Tail
from headrace.gateway.ui.topic_dialogs import ask_config, ask_delete, ask_partitions
from headrace.gateway.ui.topic_view import TopicView
from headrace.gateway.ui.watch import Watch
from headrace.wire.codes import ErrorCode

TAIL_ROWS = 50
TAIL_SECONDS = 1.0
PARTITIONS = (
    Column("partition", "Partition", "number", width="1%"),
    Column("leader", "Leader"),
    Column("replicas", "Replicas", "tags"),
    Column("start", "First offset", "number"),
    Column("end", "Next offset", "number"),
    Column("size", "Size", "bar"),
    Column("state", "State", "tags"),
)
SETTINGS = (
    Column("name", "Setting"),
    Column("value", "Value", "mono"),
    Column("source", "Set by", "tags"),
    Column("acts", "", "acts"),
)


async def topic(watch: Watch, name: str) -> None:
    topics = await answered(watch.topics(name))
    if topics is None:
        return
    seen = topics.get(name)
    if seen is None:
        with head(name, ("Topics", "/ui/topics")):
            pass
        empty("search_off", "There is no such topic", "It may have been deleted, or not be made yet.")
        return
    may = await watch.allowed(lambda admin: topic_operations(admin, name))
    _build(watch, name, seen, may)


class _Known:
    """The topic as it was seen last; it may get more partitions while the page is open."""

    def __init__(self, seen: TopicView) -> None:
        self.seen = seen

    @property
    def count(self) -> int:
        return len(self.seen.partitions)


def _build(watch: Watch, name: str, seen: TopicView, may: Callable[[Right], bool]) -> None:
    known = _Known(seen)
    with head(name, ("Topics", "/ui/topics")):
        if may(Right.READ):
            anchor("Messages", f"/ui/messages?topic={name}", "hr-link-act")
        if may(Right.WRITE):
            button("Write a message", lambda: ask_produce(watch, name, known.count))
        if may(Right.ALTER):
            button("Add partitions", lambda: ask_partitions(watch, name, known.count))
        if may(Right.DELETE):
            button("Delete", lambda: ask_delete(watch, name), danger=True)
    _flow(watch, name)
    _partitions(watch, name, known)
    if may(Right.READ):
        _tail(watch, name, known)
    if may(Right.DESCRIBE_CONFIGS):
        _settings(watch, name, may(Right.ALTER_CONFIGS))


def _flow(watch: Watch, name: str) -> None:
    with tagged("div", classes="hr-two"):
        with Panel("Messages in").body():
            messages = Chart("Messages a second", "/s")
        with Panel("Bytes in and out").body():
            volume = Chart("Bytes a second", "B/s")

    async def refresh() -> None:
        monitor = watch.monitor
        messages.show(*lines(monitor, {"In": topic_series(RECORDS_IN, name)}))
        flows = {"In": topic_series(BYTES_IN, name), "Out": topic_series(BYTES_OUT, name)}
        volume.show(*lines(monitor, flows))

    keep_fresh(refresh, 5.0)


def _partitions(watch: Watch, name: str, known: _Known) -> None:
    with tiles():
        messages, size, stored, skew = Tile("Offsets"), Tile("Size"), Tile("On all replicas"), Tile("Skew")
    with Panel("Partitions"):
        grid = Grid("Partitions", PARTITIONS, "This topic has no partitions.")

    def show(seen: TopicView, ranges: Mapping[TopicPartition, tuple[int | None, int | None]]) -> None:
        largest = max(part.size_bytes for part in seen.partitions)
        grid.show([_partition_row(part, ranges.get(part.id, (None, None)), largest) for part in seen.partitions])
        held = sum(end - start for start, end in ranges.values() if start is not None and end is not None)
        messages.show(words.count(held) if ranges else words.NOTHING, "between first and next")
        size.show(words.size(seen.size_bytes), "of one copy")
        stored.show(words.size(seen.stored_bytes), f"{seen.replication_factor} replicas each")
        skew.show(f"{seen.skew:.2f}", "largest against mean", "warn" if seen.skew > 2 else "")

    async def refresh() -> None:
        now = (await watch.topics()).get(name)
        if now is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} is gone")
        known.seen = now
        show(now, await offset_ranges(watch.gateway.admin, [part.id for part in now.partitions]))

    show(known.seen, {})
    keep_fresh(refresh)


def _partition_row(part: PartitionSeen, offsets: tuple[int | None, int | None], largest: int) -> Row:
    states = []
    if part.leader is None:
        states.append(tag("no leader", "bad"))
    if part.is_under_replicated:
        states.append(tag("behind", "warn"))
    if part.is_moving:
        states.append(tag("moving", "calm"))
    return {
        "key": part.id.partition,
        "partition": part.id.partition,
        "leader": words.NOTHING if part.leader is None else f"Broker {part.leader}",
        "replicas": [_replica_tag(part, broker) for broker in part.replicas],
        "start": words.count(offsets[0]),
        "end": words.count(offsets[1]),
        "size": bar(part.size_bytes / largest if largest else 0, words.size(part.size_bytes)),
        "state": states or [tag("in sync", "good")],
    }


def _replica_tag(part: PartitionSeen, broker: int) -> dict[str, str]:
    if broker in part.isr:
        return tag(str(broker), "good", f"Broker {broker} is in sync")
    if broker in part.adding:
        return tag(f"{broker} coming", "calm", f"Broker {broker} is catching up")
    return tag(f"{broker} behind", "warn", f"Broker {broker} is not in sync")


def _tail(watch: Watch, name: str, known: _Known) -> None:
    with Panel("Live end") as panel:
        with panel.doing:
            running = ui.switch("Follow", value=True)
        grid = Grid("Live end", MESSAGE_COLUMNS, "Nothing was written since you came. What comes appears here.")
    shown: deque[FoundMessage] = deque(maxlen=TAIL_ROWS)
    grid.on_open(lambda key: open_message(next(each for each in shown if each.key == key)))
    tail = Tail(watch.gateway.client, name)

    async def refresh() -> None:
        if not running.value:
            return
        shown.extendleft(await tail.poll(known.count))
        while len(shown) > 1 and sum(message.size_bytes for message in shown) > HELD_BYTES_MAX:
            shown.pop()
        grid.show([message_row(message) for message in shown])
        panel.note.text = f"{words.count(tail.skipped)} passed too fast to show" if tail.skipped else ""

    keep_fresh(refresh, TAIL_SECONDS)


def _settings(watch: Watch, name: str, may_change: bool) -> None:
    configs: dict[str, Config] = {}
    with Panel("Settings") as panel:
        with panel.doing:
            everything = ui.switch("Defaults too", on_change=lambda: show())
        grid = Grid("Settings", SETTINGS, "Everything is at the brokers' defaults.")
        grid.on_act(lambda _, key: ask_config(watch, name, configs[key]))

    def show() -> None:
        listed = [each for each in configs.values() if everything.value or each.source == "topic"]
        grid.show([_setting_row(each, may_change) for each in listed])

    async def refresh() -> None:
        found = await describe_configs(watch.gateway.admin, Resource(TOPIC, name))
        configs.clear()
        configs.update({each.name: each for each in found})
        show()

    keep_fresh(refresh, 5.0)


def _setting_row(config: Config, may_change: bool) -> Row:
    return {
        "key": config.name,
        "name": config.name,
        "value": "hidden" if config.sensitive else config.value or "",
        "source": [tag(config.source, "calm" if config.source == "topic" else "")],
        "acts": [] if config.read_only or not may_change else acts(change="Change"),
    }
