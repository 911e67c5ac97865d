"""The brokers: what each leads and holds, how full its disk is; emptied for maintenance, evened out, led as preferred."""

from nicegui import ui

from headrace.base.ids import TopicPartition
from headrace.client import moves
from headrace.client.elections import hold_elections, plan_elections
from headrace.client.survey import BrokerSeen, PartitionSeen, Survey
from headrace.gateway.ui import words
from headrace.gateway.ui.dialogs import agree_to_plan
from headrace.gateway.ui.grid import Column, Grid, Row, acts, bar, tag
from headrace.gateway.ui.live import TROUBLE, attempt, keep_fresh, sentence
from headrace.gateway.ui.pages.overview import broker_row
from headrace.gateway.ui.pieces import Panel, button, head
from headrace.gateway.ui.watch import Watch

PLAN_ROWS_MAX = 300
BROKERS = (
    Column("name", "Broker", "stamp"),
    Column("address", "Address", "stamp"),
    Column("leads", "Leads", "bar"),
    Column("holds", "Replicas", "number"),
    Column("stored", "Stored", "number"),
    Column("disk", "Disk", "bar"),
    Column("state", "State", "tags"),
    Column("acts", "", "acts"),
)
MOVES = (
    Column("partition", "Partition"),
    Column("adding", "Comes to", "tags"),
    Column("removing", "Leaves", "tags"),
    Column("copied", "Copied", "bar"),
    Column("acts", "", "acts"),
)
PLAN = (
    Column("partition", "Partition"),
    Column("from", "Replicas now"),
    Column("to", "Then"),
    Column("bytes", "To copy", "number"),
)


def brokers(watch: Watch) -> None:
    with head("Brokers"):
        button("Elect preferred leaders", lambda: _ask_elections(watch))
        button("Rebalance", lambda: _ask_moves(watch, "Rebalance the cluster", "Rebalance", moves.rebalance))
    with Panel("Brokers"):
        table = Grid("Brokers", BROKERS, "No broker is known yet.")
        table.on_act(lambda _, broker: _ask_moves(watch, f"Drain broker {broker}", "Drain", moves.drain(int(broker))))
    with Panel("Partitions on the move") as panel:
        moving = Grid("Partitions on the move", MOVES, "Every partition is where it should be.")
        moving.on_act(lambda _, key: _cancel(watch, key))

    def show(seen: Survey) -> None:
        table.show([_row(seen, broker) for broker in seen.brokers.values()])
        moving.show([_move_row(each) for each in seen.moving[:PLAN_ROWS_MAX]])
        panel.note.text = words.of(len(seen.moving), "partition") if seen.moving else ""

    async def refresh() -> None:
        show(await watch.cluster.get())

    if watch.cluster.last:
        show(watch.cluster.last)
    keep_fresh(refresh)


def _row(seen: Survey, broker: BrokerSeen) -> Row:
    stored = sum(part.held[broker.id].size_bytes for part in seen.partitions.values() if broker.id in part.held)
    row = broker_row(seen, broker)
    holds = any(broker.id in part.targets for part in seen.partitions.values())
    return {
        **row,
        "key": str(broker.id),
        "name": f"Broker {broker.id}",
        "stored": words.size(stored),
        "acts": acts(drain="Drain") if holds else [],
    }


def _move_row(part: PartitionSeen) -> Row:
    done, total = moves.copied(part)
    return {
        "key": f"{part.id.topic}:{part.id.partition}",
        "partition": str(part.id),
        "adding": [tag(f"Broker {each}", "calm") for each in part.adding],
        "removing": [tag(f"Broker {each}") for each in part.removing],
        "copied": bar(done / total if total else 1, f"{words.size(done)} of {words.size(total)}"),
        "acts": acts(cancel="Cancel"),
    }


async def _ask_moves(watch: Watch, title: str, act: str, planner: moves.Planner) -> None:
    page = ui.context.client.content
    try:
        watch.cluster.forget()
        seen = await watch.cluster.get()
        wanted = planner(seen)
    except TROUBLE as error:
        ui.notify(sentence(error), type="negative", timeout=10_000, close_button="Close")
        return
    view = moves.plan_view(wanted, seen)
    rows = [_plan_row(each) for each in view["moves"]]
    text = f"{words.of(len(rows), 'partition')} would move, {words.size(view['bytes'])} to copy."
    if view["offline"]:
        text += f" {words.of(len(view['offline']), 'partition')} without a leader cannot move."

    async def move() -> bool:
        done = await attempt(_reassign(watch, wanted), f"{words.of(len(wanted), 'partition')} on the move")
        watch.cluster.forget()
        return done

    with page:
        agree_to_plan(title, text, PLAN, rows[:PLAN_ROWS_MAX], act, move)


async def _reassign(watch: Watch, wanted: moves.Plan) -> None:
    refused = await watch.gateway.admin.reassign(wanted)
    for refusal in refused.values():
        raise refusal


def _plan_row(move: Row) -> Row:
    return {
        "key": f"{move['topic']}:{move['partition']}",
        "partition": f"{move['topic']}-{move['partition']}",
        "from": words.listed(move["from"]),
        "to": words.listed(move["to"]),
        "bytes": words.size(move["bytes"]),
    }


async def _cancel(watch: Watch, key: str) -> None:
    topic, _, partition = key.rpartition(":")
    id = TopicPartition(topic, int(partition))
    await attempt(_reassign_back(watch, id), f"{id} stays where it was")


async def _reassign_back(watch: Watch, id: TopicPartition) -> None:
    for refusal in (await watch.gateway.admin.reassign({id: None})).values():
        raise refusal
    watch.cluster.forget()


async def _ask_elections(watch: Watch) -> None:
    page = ui.context.client.content
    elections = plan_elections(await watch.cluster.get(0), (), unclean=False)
    rows = [
        {
            "key": str(each.partition.id),
            "partition": str(each.partition.id),
            "from": words.NOTHING if each.partition.leader is None else f"Broker {each.partition.leader}",
            "to": f"Broker {each.then}",
        }
        for each in elections
    ]

    async def elect() -> bool:
        done = await attempt(
            hold_elections(watch.gateway.admin, elections, unclean=False), "The preferred replicas lead"
        )
        watch.cluster.forget()
        return done

    text = f"{words.of(len(rows), 'partition')} would be led by the first of their replicas again."
    columns = (Column("partition", "Partition"), Column("from", "Leader now"), Column("to", "Then"))
    with page:
        agree_to_plan("Elect preferred leaders", text, columns, rows[:PLAN_ROWS_MAX], "Elect", elect)
