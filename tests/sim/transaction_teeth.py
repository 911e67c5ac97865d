"""Brokers with one rule of transactions taken away, as in `teeth`."""

from pytest import MonkeyPatch

from headrace.broker.coordinators.markers import Markers
from headrace.broker.handlers.first_writes import FirstWrites
from headrace.groups.offsets.committed import CommittedOffsets
from headrace.log.aborted import AbortedIndex
from headrace.partition.reads import Reads
from headrace.partition.refusals import RefusedBatches
from headrace.partition.verification import Verifications
from headrace.txns.coordinator import Transactions
from headrace.txns.outcome import nothing
from sim.storm import Plan
from sim.teeth import Tooth


def open_transactions_are_shown(patch: MonkeyPatch) -> None:
    """A read_committed reader sees nothing of an open transaction."""
    patch.setattr(Reads, "last_stable_offset", property(lambda self: self._role.high_watermark))


def aborted_transactions_are_not_listed(patch: MonkeyPatch) -> None:
    """A read_committed reader is told which transactions were aborted."""
    patch.setattr(AbortedIndex, "between", lambda self, offset, end_offset: [])


def first_writes_are_not_checked(patch: MonkeyPatch) -> None:
    """The first write of a transaction to a partition is checked with its coordinator."""

    async def at_once(self: FirstWrites) -> FirstWrites:
        return self

    patch.setattr(FirstWrites, "until_checked", at_once)


def markers_are_sent_once(patch: MonkeyPatch) -> None:
    """A marker is sent until it is in."""
    patch.setattr(Markers, "_route_later", lambda self, job, partitions: job.finish(partitions))


def a_new_coordinator_forgets_what_is_prepared(patch: MonkeyPatch) -> None:
    """A new coordinator ends the transactions that it finds prepared."""
    patch.setattr(Transactions, "on_loaded", lambda self, now: nothing())


def offsets_count_at_once(patch: MonkeyPatch) -> None:
    """Offsets committed in a transaction count when it is committed."""
    patch.setattr(CommittedOffsets, "apply_pending", lambda self, producer_id, record: self.apply(record))


def epochs_do_not_part_transactions(patch: MonkeyPatch) -> None:
    """A transaction of an older epoch is not open for its producer."""

    def careless(self: Verifications, producer_id: int, producer_epoch: int) -> bool:
        return self._role.log.state.transactions.open.get(producer_id) is not None

    patch.setattr(Verifications, "is_in_transaction", careless)


def refused_batches_are_forgotten(patch: MonkeyPatch) -> None:
    """A batch behind one that was refused is refused with it."""
    patch.setattr(RefusedBatches, "check", lambda self, *batch: None)


STORM = Plan(
    brokers=3,
    scenario="transactions",
    seconds=8.0,
    producers=1,
    consumers=1,
    pace=0.05,
    gap=0.8,
    calm=20.0,
    is_narrow=True,
)
# The next transaction begins while the markers of the last one are on their way.
HASTY = STORM._replace(producers=0, consumers=0, pace=0.002)
UNSEEN = ("torn", "aborted-read")

TRANSACTION_TEETH = (
    Tooth("open-transactions-are-shown", open_transactions_are_shown, UNSEEN, STORM),
    Tooth("aborted-transactions-are-not-listed", aborted_transactions_are_not_listed, UNSEEN, STORM),
    Tooth("first-writes-are-not-checked", first_writes_are_not_checked, ("caught-up", *UNSEEN), STORM),
    Tooth("markers-are-sent-once", markers_are_sent_once, ("caught-up", *UNSEEN), STORM),
    Tooth("a-new-coordinator-forgets", a_new_coordinator_forgets_what_is_prepared, ("caught-up", "torn"), STORM),
    Tooth("offsets-count-at-once", offsets_count_at_once, ("offsets",), STORM),
    Tooth("epochs-do-not-part-transactions", epochs_do_not_part_transactions, ("caught-up", *UNSEEN), HASTY),
    Tooth("refused-batches-are-forgotten", refused_batches_are_forgotten, ("no-gap",), HASTY),
)
