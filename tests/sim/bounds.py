"""The invariant "bounded": what a broker keeps for a partition does not grow with its traffic, and not with trouble either.

overgrown    of a partition, at any moment: producers, aborted transactions, gaps, waiters, by the bounds of each
overcrowded  of a broker, at any moment: fetch sessions, refused batches
left_over    when all is calm and everybody done: nobody waits any more, and nothing is remembered of those who did
unthinned    a moment later: snapshots, of which those since the last checkpoint are still to be thinned out
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.partition.grace import KNOWN_MAX
from headrace.partition.refusals import REMEMBERED_MAX
from headrace.partition.waiters import SWEPT_FROM

if TYPE_CHECKING:
    from sim.host import Host

# Of a ladder that doubles with each step, on either side of the recovery point: no log here has more than 2^30 offsets.
SNAPSHOTS_MAX = 2 * 34


def overgrown(partition: Any) -> str:
    log = partition.log
    transactions = log.state.transactions
    aborted = transactions.aborted._marker_offsets
    return _above(
        {
            "producers": (len(log.state.producers), log.config.producers_max + len(transactions.open)),
            "aborted transactions below the start": (bool(aborted) and aborted[0] < log.start_offset, 0),
            "producers in their grace": (len(partition.sequences), KNOWN_MAX),
            "waiters": (len(partition.waits), 4 * SWEPT_FROM),
        }
    )


def overcrowded(host: "Host") -> str:
    assert host.node is not None
    broker = host.node.broker
    slots = broker.view.config.number("max.incremental.fetch.session.cache.slots")
    return _above(
        {
            "fetch sessions": (len(broker.sessions), slots),
            "refused batches": (len(broker.refused_batches), REMEMBERED_MAX),
        }
    )


def _above(bounds: Mapping[str, tuple[int, int]]) -> str:
    return ", ".join(f"{count} {name}, {most} at most" for name, (count, most) in bounds.items() if count > most)


def left_over(host: "Host") -> str:
    """After the calm. Members of groups still wait for answers, and for those only."""
    for partition in host.partitions():
        queues = [queue._queue for queue in (partition.waits._committed, partition.waits._synced) if queue is not None]
        gone = sum(not waiter.is_waiting(part) for queue in queues for _, waiter, part in queue)
        verifying = len(partition.verifications)
        entries = [*partition.watchers, *partition.follower_watchers]
        forgotten = sum(not entry.session.is_kept and entry.session.parked is None for entry in entries)
        if gone or verifying or forgotten:
            return (
                f"{host.name}: {partition.id} has {gone} who wait no more, {verifying} verifications, {forgotten} who "
                f"watch it for a fetch that is over"
            )
    return ""


def unthinned(host: "Host") -> str:
    for partition in host.partitions():
        if len(partition.log.snapshots) > SNAPSHOTS_MAX:
            return f"{host.name}: {partition.id} has {len(partition.log.snapshots)} snapshots"
    return ""
