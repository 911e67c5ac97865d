"""The brokers: what each leads and holds, how full its disk is; emptied for maintenance, evened out, led as preferred.

What is asked of many partitions may be refused for some: those are listed with the reason, and the rest is done.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence, Sized
from typing import TypeVar

from nicegui import ui

from headrace.admin import moves
from headrace.admin.elections import PlannedElection, hold_elections, plan_elections
from headrace.admin.survey import BrokerSeen, PartitionSeen, Survey
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.gateway.rights import Right
from headrace.gateway.ui import words
from headrace.gateway.ui.dialogs import agree_to_plan, dialog
from headrace.gateway.ui.grid import Column, Grid, Row, acts, bar, tag
from headrace.gateway.ui.live import TROUBLE, complain, keep_fresh, sentence
from headrace.gateway.ui.pages.overview import broker_row
from headrace.gateway.ui.pieces import Panel, button, head, tagged
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
ELECTIONS = (Column("partition", "Partition"), Column("from", "Leader now"), Column("to", "Then"))
REFUSED = (Column("partition", "Partition"), Column("why", "Why", width="70%"))

T = TypeVar("T")


def brokers(watch: Watch) -> None:
    may_move = watch.may(Right.ALTER)
    with head("Brokers"):
        if may_move:
            button("Elect preferred leaders", lambda: _ask_elections(watch))
            button("Rebalance", lambda: _ask_moves(watch, "Rebalance the cluster", "Rebalance", moves.rebalance))
    with Panel("Brokers"):
        table = Grid("Brokers", BROKERS, "No broker is known yet.")
        table.on_act(lambda _, broker: _ask_moves(watch, f"Drain broker {broker}", "Drain", moves.drain(int(broker))))
    with Panel("Partitions on the move") as panel:
        moving = Grid("Partitions on the move", MOVES, "Every partition is where it should be.")
        moving.on_act(lambda _, key: _cancel(watch, key))

    def show(seen: Survey) -> None:
        table.show([_row(seen, broker, may_move) for broker in seen.brokers.values()])
        moving.show([_move_row(each, may_move) for each in seen.moving[:PLAN_ROWS_MAX]])
        panel.note.text = _partitions(seen.moving) if seen.moving else ""

    async def refresh() -> None:
        show(await watch.cluster.get())

    if watch.cluster.last:
        show(watch.cluster.last)
    keep_fresh(refresh)


def _row(seen: Survey, broker: BrokerSeen, may_move: bool) -> Row:
    stored = sum(part.held[broker.id].size_bytes for part in seen.partitions.values() if broker.id in part.held)
    row = broker_row(seen, broker)
    holds = any(broker.id in part.targets for part in seen.partitions.values())
    return {
        **row,
        "key": str(broker.id),
        "name": f"Broker {broker.id}",
        "stored": words.size(stored),
        "acts": acts(drain="Drain") if holds and may_move else [],
    }


def _move_row(part: PartitionSeen, may_move: bool) -> Row:
    done, total = moves.copied(part)
    return {
        "key": f"{part.id.topic}:{part.id.partition}",
        "partition": str(part.id),
        "adding": [tag(f"Broker {each}", "calm") for each in part.adding],
        "removing": [tag(f"Broker {each}") for each in part.removing],
        "copied": bar(done / total if total else 1, f"{words.size(done)} of {words.size(total)}"),
        "acts": acts(cancel="Cancel") if may_move else [],
    }


async def _ask_moves(watch: Watch, title: str, act: str, planner: moves.Planner) -> None:
    page = ui.context.client.content
    planned = await _planned(watch, planner)
    if planned is None:
        return
    wanted, seen = planned
    view = moves.plan_view(wanted, seen)
    rows = [_plan_row(each) for each in view["moves"]]
    text = f"{words.of(len(rows), 'partition')} would move, {words.size(view['bytes'])} to copy."
    if view["offline"]:
        text += f" {words.of(len(view['offline']), 'partition')} without a leader cannot move."

    async def move() -> bool:
        with page:
            return await _do(watch, watch.gateway.admin.reassign(wanted), f"{_partitions(wanted)} on the move")

    with page:
        agree_to_plan(title, text, PLAN, rows[:PLAN_ROWS_MAX], act, move)


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
    await _do(watch, watch.gateway.admin.reassign({id: None}), f"{id} stays where it was")


async def _ask_elections(watch: Watch) -> None:
    page = ui.context.client.content
    planned = await _planned(watch, lambda seen: plan_elections(seen, (), unclean=False))
    if planned is None:
        return
    elections, _ = planned
    rows = [_election_row(each) for each in elections]

    async def elect() -> bool:
        with page:
            return await _do(watch, _elect(watch, elections), "The preferred replicas lead")

    text = f"{_partitions(rows)} would be led by the first of their replicas again."
    with page:
        agree_to_plan("Elect preferred leaders", text, ELECTIONS, rows[:PLAN_ROWS_MAX], "Elect", elect)


def _election_row(election: PlannedElection) -> Row:
    leader = election.partition.leader
    return {
        "key": str(election.partition.id),
        "partition": str(election.partition.id),
        "from": words.NOTHING if leader is None else f"Broker {leader}",
        "to": f"Broker {election.then}",
    }


async def _elect(watch: Watch, elections: Sequence[PlannedElection]) -> Mapping[TopicPartition, Refused]:
    outcomes = await hold_elections(watch.gateway.admin, elections, unclean=False)
    held = zip(elections, outcomes, strict=True)
    return {election.partition.id: refusal for election, refusal in held if refusal is not None}


async def _planned(watch: Watch, planner: Callable[[Survey], T]) -> tuple[T, Survey] | None:
    """A plan for the cluster as it is now, and the survey it was made of; None, after showing the error, without a
    cluster.
    """
    try:
        seen = await watch.cluster.get(0)
        return planner(seen), seen
    except TROUBLE as error:
        complain(error)
        return None


async def _do(watch: Watch, deed: Awaitable[Mapping[TopicPartition, Refused]], done: str) -> bool:
    """Carries out a plan of many partitions, and shows how it went."""
    try:
        refused = await deed
    except TROUBLE as error:
        complain(error)
        return False
    finally:
        watch.cluster.forget()
    if refused:
        _show_refused(refused)
    else:
        ui.notify(done, type="positive")
    return True


def _show_refused(refused: Mapping[TopicPartition, Refused]) -> None:
    rows = [{"key": str(id), "partition": str(id), "why": sentence(refusal)} for id, refusal in refused.items()]
    with dialog(f"Refused for {_partitions(rows)}", wide=True) as box:
        Grid("Refused", REFUSED, "").show(rows[:PLAN_ROWS_MAX])
        with tagged("div", classes="hr-doing"):
            ui.button("Close", on_click=box.close, color=None).props("flat")


def _partitions(listed: Sized) -> str:
    return words.of(len(listed), "partition")
