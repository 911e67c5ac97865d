"""Rules of coordinators, transactions and groups, taken away one by one."""

from typing import Any

from pytest import MonkeyPatch

from headrace.broker.coordinators.logged import LoggedCoordinator
from headrace.broker.coordinators.transaction import TransactionCoordinator
from headrace.groups.classic import ClassicGroup
from headrace.groups.consumer import ConsumerGroup
from headrace.groups.offsets import CommittedOffsets
from headrace.log.producers import Producers
from headrace.log.transactions import Transactions as LogTransactions
from headrace.partition.appends import Appends
from headrace.partition.verification import Verifications
from headrace.txns import add
from sim.mutant import Mutant, edit
from sim.mutants.plans import GROUPS, HANGS, HASTY, SAFETY, TRANSACTIONS, UNSEEN

ALL = (*SAFETY, *HANGS, *UNSEEN, "one-owner", "no-offset-lost", "no-bug")


def replies_do_not_wait(patch: MonkeyPatch) -> None:
    """A coordinator answers when what it decided, and what it had seen, is committed."""
    edit(
        patch,
        LoggedCoordinator._carry_out,
        (
            "if outcome.replies and not self.partition.wait(self._seen_end, -1, self, outcome.replies):",
            "if outcome.replies:",
        ),
    )


def new_coordinators_serve_at_once(patch: MonkeyPatch) -> None:
    """A new coordinator serves when all that it loaded is committed."""

    async def at_once(self: LoggedCoordinator, end: int) -> None:
        return

    patch.setattr(LoggedCoordinator, "_until_committed", at_once)


def decisions_are_not_stored(patch: MonkeyPatch) -> None:
    """What a coordinator decides is in its log before it counts."""
    edit(
        patch,
        LoggedCoordinator._append,
        ("self._seen_end = self.partition.appends.append_own(bytearray(self._batch_of(outcome, now)), now)", "pass"),
    )


def former_leaders_coordinate(patch: MonkeyPatch) -> None:
    """A coordinator decides only in the epoch in which its broker leads."""
    edit(patch, LoggedCoordinator._carry_out, ("if not self._leads_still:", "if False:"))


def generations_do_not_matter(patch: MonkeyPatch) -> None:
    """A member of an earlier generation of its group is refused."""
    edit(patch, ClassicGroup.check_generation, ("if code is ErrorCode.NONE and generation", "if False and generation"))


def partitions_have_two_readers(patch: MonkeyPatch) -> None:
    """A partition is given to a member of a group when the one before has given it up."""
    patch.setattr(ConsumerGroup, "is_owned_by_another", lambda self, part, member_id: False)


def some_offsets_are_forgotten(patch: MonkeyPatch) -> None:
    """A committed offset is what the next reader finds."""
    apply = CommittedOffsets.apply

    def forgetful(self: CommittedOffsets, record: Any) -> None:
        if record.value is None or record.value.offset % 5:
            apply(self, record)

    patch.setattr(CommittedOffsets, "apply", forgetful)


def markers_void_no_verification(patch: MonkeyPatch) -> None:
    """A marker voids the proof that its transaction was open."""
    edit(patch, Appends.append_marker, ("self._verifications.void(producer_id, ended_epoch)", "pass"))


def verifications_are_for_everybody(patch: MonkeyPatch) -> None:
    """The first write of a transaction shows the proof that was made for it."""
    edit(
        patch,
        Verifications.check,
        ("if self._verifying.get(producer_id) is not verification:", "if False:"),
        ("del self._verifying[producer_id]", "self._verifying.pop(producer_id, None)"),
    )


def uncommitted_markers_decide(patch: MonkeyPatch) -> None:
    """The last stable offset passes a transaction when its marker is committed."""
    edit(patch, LogTransactions.stable_end, ("if marker_offset >= high_watermark:", "if False:"))


def late_markers_end_the_next(patch: MonkeyPatch) -> None:
    """A marker that comes late ends no later transaction of its producer."""
    edit(
        patch,
        Appends.append_marker,
        ("if producer_epoch == known.epoch and transaction_version >= EPOCH_PER_TRANSACTION_SINCE:", "if False:"),
    )


def markers_of_older_epochs(patch: MonkeyPatch) -> None:
    """A marker of an older epoch of its producer is refused."""
    edit(patch, Appends.append_marker, ("if producer_epoch < known.epoch:", "if False:"))


def markers_of_older_coordinators(patch: MonkeyPatch) -> None:
    """A marker of a coordinator that was replaced is refused."""
    edit(patch, Appends.append_marker, ("if marker.coordinator_epoch < known.coordinator_epoch:", "if False:"))


def zombies_write(patch: MonkeyPatch) -> None:
    """A producer of an older epoch writes nothing."""
    edit(
        patch,
        Producers.check,
        ("return ErrorCode.INVALID_PRODUCER_EPOCH", "return None"),
    )


def zombies_are_verified(patch: MonkeyPatch) -> None:
    """A coordinator knows nobody but the newest producer of an id."""
    edit(patch, add.check_producer, ("if known.producer_epoch != producer_epoch:", "if False:"))


def transactions_begin_too_soon(patch: MonkeyPatch) -> None:
    """No transaction begins before the markers of the last one are in."""
    edit(patch, add.check_producer, ("ErrorCode.CONCURRENT_TRANSACTIONS if known.state.is_prepared else ", ""))


def markers_before_the_decision(patch: MonkeyPatch) -> None:
    """Markers are written when the decision is committed."""
    write_markers = TransactionCoordinator.write_markers

    def hasty(self: TransactionCoordinator, outcome: Any) -> None:
        LoggedCoordinator._carry_out(self, outcome)
        if self.is_over:
            return
        write_markers(self, outcome.prepared)
        for command in outcome.resumed:
            if self.is_active:
                self._handle(command)

    patch.setattr(TransactionCoordinator, "_carry_out", hasty)


COORDINATION = (
    Mutant("replies-do-not-wait", replies_do_not_wait, ALL, TRANSACTIONS, (GROUPS,)),
    Mutant("new-coordinators-serve-at-once", new_coordinators_serve_at_once, ALL, TRANSACTIONS, (GROUPS,)),
    Mutant("decisions-are-not-stored", decisions_are_not_stored, ALL, GROUPS),
    Mutant("former-leaders-coordinate", former_leaders_coordinate, ALL, TRANSACTIONS, (GROUPS,)),
    Mutant("generations-do-not-matter", generations_do_not_matter, ALL, GROUPS),
    Mutant("partitions-have-two-readers", partitions_have_two_readers, ALL, GROUPS),
    Mutant("some-offsets-are-forgotten", some_offsets_are_forgotten, ALL, GROUPS),
    Mutant("markers-void-no-verification", markers_void_no_verification, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("verifications-are-for-everybody", verifications_are_for_everybody, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("uncommitted-markers-decide", uncommitted_markers_decide, ALL, TRANSACTIONS, (HASTY,)),
    Mutant("late-markers-end-the-next", late_markers_end_the_next, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("markers-of-older-epochs", markers_of_older_epochs, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("markers-of-older-coordinators", markers_of_older_coordinators, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("zombies-write", zombies_write, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("zombies-are-verified", zombies_are_verified, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("transactions-begin-too-soon", transactions_begin_too_soon, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("markers-before-the-decision", markers_before_the_decision, ALL, HASTY, (TRANSACTIONS,)),
)
