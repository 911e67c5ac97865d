"""The cluster at a glance: who is there, what flows now and did a moment ago, and what wants attention."""

from headrace.admin.survey import BrokerSeen, Survey
from headrace.gateway.monitor.history import Series
from headrace.gateway.ui import words
from headrace.gateway.ui.alert_list import AlertList
from headrace.gateway.ui.chart import Chart
from headrace.gateway.ui.figures import BYTES_IN, BYTES_OUT, RECORDS_IN, cluster_rate, lines
from headrace.gateway.ui.grid import Column, Grid, Row, Tone, bar, link, tag
from headrace.gateway.ui.live import keep_fresh
from headrace.gateway.ui.pieces import Panel, Tile, head, tagged, tiles
from headrace.gateway.ui.watch import Watch

BROKERS = (
    Column("name", "Broker", "link"),
    Column("address", "Address", "stamp"),
    Column("leads", "Leads", "bar"),
    Column("holds", "Replicas", "number"),
    Column("disk", "Disk", "bar"),
    Column("state", "State", "tags"),
)


def overview(watch: Watch) -> None:
    with head("Overview"):
        pass
    with tiles():
        brokers, topics, partitions = Tile("Brokers"), Tile("Topics"), Tile("Partitions")
        messages, bytes_in, bytes_out = Tile("Messages in"), Tile("Bytes in"), Tile("Bytes out")
    alerts = AlertList()
    with tagged("div", classes="hr-two"):
        with Panel("Messages in").body():
            message_chart = Chart("Messages a second", "/s")
        with Panel("Bytes in and out").body():
            byte_chart = Chart("Bytes a second", "B/s")
    with Panel("Brokers"):
        table = Grid("Brokers", BROKERS, "No broker is known yet.")

    def show(seen: Survey) -> None:
        dead = len(seen.brokers) - len(seen.live)
        brokers.show(words.count(len(seen.live)), f"{dead} down" if dead else "all alive", "bad" if dead else "")
        topics.show(words.count(len({id.topic for id in seen.partitions})), "internal ones included")
        behind = sum(part.is_under_replicated for part in seen.partitions.values())
        partitions.show(
            words.count(len(seen.partitions)), f"{behind} behind" if behind else "all in sync", "warn" if behind else ""
        )
        table.show([broker_row(seen, broker) for broker in seen.brokers.values()])

    def show_rates() -> None:
        monitor = watch.monitor
        messages.show(words.rate(cluster_rate(monitor, RECORDS_IN)), "of all topics")
        bytes_in.show(words.rate_of_bytes(cluster_rate(monitor, BYTES_IN)), "from producers")
        bytes_out.show(words.rate_of_bytes(cluster_rate(monitor, BYTES_OUT)), "to consumers")
        message_chart.show(*lines(monitor, {"In": Series(RECORDS_IN)}))
        byte_chart.show(*lines(monitor, {"In": Series(BYTES_IN), "Out": Series(BYTES_OUT)}))
        alerts.show(monitor.alerts.all)

    async def refresh() -> None:
        show_rates()
        show(await watch.cluster.get())

    show_rates()

    if watch.cluster.last:
        show(watch.cluster.last)
    keep_fresh(refresh)


def broker_row(seen: Survey, broker: BrokerSeen) -> Row:
    leads = sum(part.leader == broker.id for part in seen.partitions.values())
    holds = sum(broker.id in part.replicas for part in seen.partitions.values())
    states = [tag("alive", "good") if broker.is_alive else tag("down", "bad")]
    if broker.id == seen.controller:
        states.append(tag("controller", "calm"))
    return {
        "key": broker.id,
        "name": link(f"Broker {broker.id}", "/ui/brokers"),
        "address": f"{broker.host}:{broker.port}" + (f" · {broker.rack}" if broker.rack else ""),
        "leads": bar(leads / max(1, len(seen.partitions)), words.count(leads)),
        "holds": words.count(holds),
        "disk": disk_bar(broker),
        "state": states,
    }


def disk_bar(broker: BrokerSeen) -> Row | None:
    if not broker.total_bytes or broker.free_bytes is None:
        return None
    used = 1 - broker.free_bytes / broker.total_bytes
    tone: Tone = "bad" if used > 0.95 else "warn" if used > 0.85 else ""
    return bar(used, f"{words.size(broker.free_bytes)} free", tone)
