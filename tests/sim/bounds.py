"""The invariant "bounded": what a broker keeps for a partition does not grow with its traffic, and not with trouble either.

overgrown   at any moment: producers, snapshots, who waits, by the bounds of each
left_over   when all is calm and everybody done: nobody waits any more, and nothing is remembered of those who did
"""

from typing import TYPE_CHECKING, Any

from headrace.partition.waiters import SWEPT_FROM

if TYPE_CHECKING:
    from sim.host import Host

# Of a ladder that doubles with each step, on either side of the recovery point: no log here has more than 2^30 offsets.
SNAPSHOTS_MAX = 2 * 34


def overgrown(partition: Any) -> str:
    log = partition.log
    transactions = log._state.transactions
    bounds = {
        "producers": (len(log._state.producers), log.config.producers_max + len(transactions.open)),
        "snapshots": (len(log._snapshots), SNAPSHOTS_MAX),
        "waiters": (len(partition.waits), 4 * SWEPT_FROM),
    }
    return ", ".join(f"{count} {name}, {most} at most" for name, (count, most) in bounds.items() if count > most)


def left_over(host: "Host") -> str:
    """After the calm. Members of groups still wait for answers, and for those only."""
    for partition in host.partitions():
        queues = [queue._queue for queue in (partition.waits._committed, partition.waits._synced) if queue is not None]
        gone = sum(not waiter.is_waiting(part) for queue in queues for _, waiter, part in queue)
        verifying = len(partition.verifications)
        if gone or verifying:
            return f"{host.name}: {partition.id} has {gone} who wait no more, {verifying} verifications"
    return ""
