"""All topics: searched, sorted and paged on the server, so that a thousand of them cost the browser fifty rows."""

from nicegui import ui

from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.rights import Right
from headrace.gateway.ui import words
from headrace.gateway.ui.figures import BYTES_IN, RECORDS_IN, topic_rate
from headrace.gateway.ui.grid import Column, Paged, Row, link, matching
from headrace.gateway.ui.live import keep_fresh
from headrace.gateway.ui.pieces import Panel, Tile, button, head, tiles
from headrace.gateway.ui.topic_dialogs import ask_create
from headrace.gateway.ui.topic_view import TopicView, state_tags, topics_of
from headrace.gateway.ui.watch import Watch


def topics(watch: Watch) -> None:
    monitor = watch.monitor
    columns = (
        Column("name", "Topic", "link", lambda topic: topic.name),
        Column("partitions", "Partitions", "number", lambda topic: len(topic.partitions)),
        Column("replicas", "Replicas", "number", lambda topic: topic.replication_factor),
        Column("size", "Size", "number", lambda topic: topic.size_bytes),
        Column("rate", "Messages in", "number", lambda topic: topic_rate(monitor, RECORDS_IN, topic.name) or 0),
        Column("bytes_rate", "Bytes in", "number", lambda topic: topic_rate(monitor, BYTES_IN, topic.name) or 0),
        Column("skew", "Skew", "number", lambda topic: topic.skew),
        Column("state", "State", "tags", lambda topic: (topic.leaderless, topic.behind, topic.moving)),
    )
    with head("Topics"):
        if watch.may(Right.CREATE):
            button("Create topic", lambda: ask_create(watch), main=True)
    with tiles():
        shown, partitions, size, worst = Tile("Topics"), Tile("Partitions"), Tile("Stored"), Tile("State")
    with Panel("All topics") as panel:
        with panel.doing:
            search = ui.input(placeholder="Search topics", on_change=lambda: on_search())
            search.props('outlined dense clearable debounce=150 aria-label="Search topics"')
            internal = ui.switch("Internal topics", on_change=lambda: on_search())
        table = Paged("Topics", columns, "No topic is called that.", lambda topic: _row(monitor, topic), by="name")

    def on_search() -> None:
        table.first_page()
        show()

    def show() -> None:
        if watch.cluster.last is None:
            return
        known = list(topics_of(watch.cluster.last).values())
        listed = [each for each in known if internal.value or not each.is_internal]
        table.show(matching(listed, search.value or "", lambda topic: topic.name))
        shown.show(words.count(len(listed)), f"and {len(known) - len(listed)} internal" if not internal.value else "")
        partitions.show(words.count(sum(len(each.partitions) for each in known)), "of all topics")
        size.show(words.size(sum(each.stored_bytes for each in known)), "on all brokers")
        behind, leaderless = sum(each.behind for each in known), sum(each.leaderless for each in known)
        if leaderless:
            worst.show(words.count(leaderless), "partitions without leader", "bad")
        elif behind:
            worst.show(words.count(behind), "partitions behind", "warn")
        else:
            worst.show("In sync", "every partition", "good")

    async def refresh() -> None:
        await watch.cluster.get()
        show()

    show()
    keep_fresh(refresh)


def _row(monitor: Monitor, topic: TopicView) -> Row:
    return {
        "key": topic.name,
        "name": link(topic.name, f"/ui/topics/{topic.name}"),
        "partitions": words.count(len(topic.partitions)),
        "replicas": topic.replication_factor,
        "size": words.size(topic.size_bytes),
        "rate": words.rate(topic_rate(monitor, RECORDS_IN, topic.name)),
        "bytes_rate": words.rate_of_bytes(topic_rate(monitor, BYTES_IN, topic.name)),
        "skew": f"{topic.skew:.2f}" if topic.size_bytes else words.NOTHING,
        "state": state_tags(topic),
    }
