"""One group: who is in it, what each reads, how far each partition is behind and was, and where it should go on."""

from collections.abc import Sequence

from headrace.admin.groups import GroupSeen, MemberSeen, describe_group
from headrace.admin.lag import PartitionLag, lag_of
from headrace.base.ids import TopicPartition
from headrace.gateway.rights import Right, group_operations
from headrace.gateway.ui import words
from headrace.gateway.ui.chart import Chart
from headrace.gateway.ui.figures import lag_series, lines
from headrace.gateway.ui.grid import Column, Grid, Row, bar, tag
from headrace.gateway.ui.group_dialogs import ask_delete_group, ask_reset
from headrace.gateway.ui.live import keep_fresh
from headrace.gateway.ui.pages.groups import TONES
from headrace.gateway.ui.pieces import Panel, Tile, button, head, tiles
from headrace.gateway.ui.watch import Watch

LINES_MAX = 8
PARTITIONS = (
    Column("topic", "Topic"),
    Column("partition", "Partition", "number"),
    Column("committed", "Committed", "number"),
    Column("end", "Next offset", "number"),
    Column("lag", "Behind", "bar"),
    Column("member", "Read by"),
)
MEMBERS = (
    Column("client", "Client"),
    Column("host", "Host"),
    Column("member", "Member", "mono"),
    Column("partitions", "Reads", "tags"),
)


async def group(watch: Watch, name: str = "") -> None:
    may = await watch.allowed(lambda admin: group_operations(admin, name))
    with head(name, ("Groups", "/ui/groups")):
        if may(Right.READ):
            button("Reset offsets", lambda: ask_reset(watch, name))
        if may(Right.DELETE):
            button("Delete", lambda: ask_delete_group(watch, name), danger=True)
    with tiles():
        state, members, behind, coordinator = Tile("State"), Tile("Members"), Tile("Behind"), Tile("Coordinator")
    with Panel("Behind, by partition").body():
        chart = Chart("Messages behind")
    with Panel("Partitions"):
        partitions = Grid("Partitions", PARTITIONS, "This group has committed nothing yet.")
    with Panel("Members"):
        people = Grid("Members", MEMBERS, "Nobody is in this group at the moment.")

    def show(seen: GroupSeen, lags: Sequence[PartitionLag]) -> None:
        state.show(seen.state.capitalize(), f"{seen.type} group", TONES.get(seen.state, "warn"))
        members.show(words.count(len(seen.members)), seen.assignor or "")
        behind.show(words.count(sum(each.lag or 0 for each in lags)), "messages")
        coordinator.show(f"Broker {seen.coordinator}")
        readers = {id: member.client_id for member in seen.members for id in member.partitions}
        largest = max((each.lag or 0 for each in lags), default=0)
        partitions.show([_partition_row(each, readers, largest) for each in lags])
        people.show([_member_row(each) for each in seen.members])

    async def refresh() -> None:
        lags = await lag_of(watch.gateway.admin, name)
        farthest = sorted(lags, key=lambda each: each.lag or 0, reverse=True)[:LINES_MAX]
        chart.show(*lines(watch.monitor, lag_series(name, sorted(each.id for each in farthest))))
        show(await describe_group(watch.gateway.admin, name), lags)

    keep_fresh(refresh)


def _partition_row(each: PartitionLag, readers: dict[TopicPartition, str], largest: int) -> Row:
    lag = each.lag
    return {
        "key": str(each.id),
        "topic": each.id.topic,
        "partition": each.id.partition,
        "committed": words.count(each.committed),
        "end": words.count(each.end),
        "lag": bar(lag / largest if lag and largest else 0, words.count(lag)),
        "member": readers.get(each.id, "nobody"),
    }


def _member_row(member: MemberSeen) -> Row:
    shown = [tag(str(id)) for id in member.partitions[:12]]
    more = len(member.partitions) - len(shown)
    return {
        "key": member.member_id,
        "client": member.client_id + (f" ({member.instance_id})" if member.instance_id else ""),
        "host": member.host,
        "member": member.member_id,
        "partitions": [*shown, tag(f"and {more} more")] if more else shown or [tag("nothing")],
    }
