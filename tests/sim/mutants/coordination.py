"""Rules of coordinators, transactions and groups, taken away one by one."""

from typing import Any

from pytest import MonkeyPatch

from headrace.broker.coordinators import transaction_checks
from headrace.broker.coordinators.decision_log import DecisionLog
from headrace.broker.coordinators.led import LedCoordinators
from headrace.broker.coordinators.log_replay import LogReplay
from headrace.broker.coordinators.transaction import TransactionCoordinator
from headrace.broker.disk import log_reading
from headrace.broker.replication.rot import Rot
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.consumer.decision import Decision
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.offsets.committed import CommittedOffsets
from headrace.log.producers import Producers
from headrace.log.transactions import LogTransactions
from headrace.partition.appends import Appends
from headrace.partition.verification import Verifications
from headrace.txns import add
from sim.mutant import Mutant, edit
from sim.mutants.plans import GROUPS, HANGS, HASTY, SAFETY, TRANSACTIONS, UNSEEN
from sim.mutants.plays import by_test

IN_TRANSACTION = "tests/unit/partition/test_verification.py"
TROUBLE = "tests/sim/test_coordinators_in_trouble.py"

ALL = (*SAFETY, *HANGS, *UNSEEN, "one-owner", "no-offset-lost", "no-bug")


def replies_do_not_wait(patch: MonkeyPatch) -> None:
    """A coordinator answers when what it decided, and what it had seen, is committed."""
    edit(
        patch,
        DecisionLog.carry_out,
        ("if outcome.replies and not self.wait(self, outcome.replies):", "if outcome.replies:"),
    )


def new_coordinators_serve_at_once(patch: MonkeyPatch) -> None:
    """A new coordinator serves when all that it loaded is committed."""

    async def at_once(self: DecisionLog[Any], end: int) -> None:
        return

    patch.setattr(DecisionLog, "_until_committed", at_once)


def replies_do_not_wait_for_what_was_loaded(patch: MonkeyPatch) -> None:
    """The first replies of a new coordinator wait for the end of the log that it loaded."""
    edit(patch, DecisionLog.load, ("self._seen_end = end", "pass"))


def decisions_are_not_stored(patch: MonkeyPatch) -> None:
    """What a coordinator decides is in its log before it counts."""
    edit(
        patch,
        DecisionLog._append,
        (
            "end = self.partition.appends.append_own(bytearray(self._core.batch_of(outcome, now)), now)\n    assert end",
            "end = self._seen_end\n    assert True or end",
        ),
    )


def former_leaders_coordinate(patch: MonkeyPatch) -> None:
    """A coordinator decides only in the epoch in which its broker leads."""
    edit(patch, DecisionLog.carry_out, ("if not self._leads_still:", "if False:"))


def former_coordinators_stay(patch: MonkeyPatch) -> None:
    """A broker drops its coordinators when it leads no more, or in another epoch."""
    edit(patch, LedCoordinators.reconcile, ("self._drop(index)", "pass"))


def generations_do_not_matter(patch: MonkeyPatch) -> None:
    """A member of an earlier generation of its group is refused."""
    edit(patch, ClassicGroup.check_generation, ("if code is ErrorCode.NONE and generation", "if False and generation"))


def partitions_have_two_readers(patch: MonkeyPatch) -> None:
    """A partition is given to a member of a group when the one before has given it up."""
    patch.setattr(ConsumerGroup, "is_owned_by_another", lambda self, part, member_id: False)


def decisions_leave_their_records(patch: MonkeyPatch) -> None:
    """A decision about a consumer group is applied when it is appended, not before."""
    patch.setattr(Decision, "__exit__", lambda self, *error: None)


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
    edit(
        patch,
        TransactionCoordinator._carry_out,
        ("if outcome.prepared and not self.decisions.wait(_Prepared(self), outcome.prepared):", "if outcome.prepared:"),
    )


def refused_decisions_count(patch: MonkeyPatch) -> None:
    """A coordinator that cannot store what it decided starts over from its log."""
    given_up = ("self.resign()\n        return False\n    except Exception", "pass\n    except Exception")
    edit(patch, DecisionLog.carry_out, given_up)


def damaged_batches_are_replayed(patch: MonkeyPatch) -> None:
    """A coordinator takes nothing from a batch whose checksum does not fit."""
    patch.setattr(log_reading, "crc_ok", lambda *batch: True)


def loading_coordinators_are_waited_for(patch: MonkeyPatch) -> None:
    """Nobody waits for a coordinator that loads for longer than its own request allows."""
    edit(
        patch,
        transaction_checks._ask_here,
        ("async with asyncio.timeout(seconds_max):", "async with asyncio.timeout(None):"),
    )


def all_logs_are_loaded_at_once(patch: MonkeyPatch) -> None:
    """However many coordinators load, the loop replays one stretch of one log at a time."""
    edit(patch, LogReplay._replay_all, ("async with self._turns:", "if True:"))


def accepted_damage_is_for_ever(patch: MonkeyPatch) -> None:
    """An unclean election accepts the damage that was there, and none of later."""
    patch.setattr(Rot, "accepted_end", lambda self, partition: 1 << 62)


COORDINATION = (
    Mutant("replies-do-not-wait", replies_do_not_wait, ALL, TRANSACTIONS, (GROUPS,)),
    by_test(
        "new-coordinators-serve-at-once",
        new_coordinators_serve_at_once,
        "tests/sim/test_new_coordinators.py::test_what_is_loaded_is_told_when_it_is_committed",
        beside=(
            replies_do_not_wait_for_what_was_loaded,
            "its first replies wait for the same; taken away with that",
        ),
    ),
    Mutant("decisions-are-not-stored", decisions_are_not_stored, ALL, GROUPS),
    by_test(
        "former-leaders-coordinate",
        former_leaders_coordinate,
        "tests/sim/test_new_coordinators.py::test_one_whose_broker_leads_no_more_sends_everybody_away",
        beside=(
            former_coordinators_stay,
            "a broker drops its coordinators as soon as it hears that it leads no more, unless the same news changes more "
            "than a thousand partitions; taken away with that",
        ),
    ),
    by_test(
        "generations-do-not-matter",
        generations_do_not_matter,
        "tests/unit/groups/test_groups_offsets.py::test_members_commit_in_their_generation",
    ),
    Mutant("partitions-have-two-readers", partitions_have_two_readers, ALL, GROUPS),
    by_test(
        "decisions-leave-their-records",
        decisions_leave_their_records,
        "tests/unit/groups/test_groups_invariants.py::test_a_decision_that_is_broken_off_leaves_no_trace",
    ),
    Mutant("some-offsets-are-forgotten", some_offsets_are_forgotten, ALL, GROUPS),
    Mutant("markers-void-no-verification", markers_void_no_verification, (*ALL, "bounded"), HASTY, (TRANSACTIONS,)),
    by_test(
        "verifications-are-for-everybody",
        verifications_are_for_everybody,
        f"{IN_TRANSACTION}::test_a_marker_makes_a_verification_void",
    ),
    by_test(
        "uncommitted-markers-decide",
        uncommitted_markers_decide,
        f"{IN_TRANSACTION}::test_a_reader_of_what_is_committed_waits_for_the_marker_to_be",
    ),
    by_test(
        "late-markers-end-the-next",
        late_markers_end_the_next,
        f"{IN_TRANSACTION}::test_a_late_copy_of_a_marker_cannot_end_the_next_transaction",
    ),
    by_test(
        "markers-of-older-epochs",
        markers_of_older_epochs,
        f"{IN_TRANSACTION}::test_a_marker_of_an_older_producer_or_coordinator_is_refused",
    ),
    by_test(
        "markers-of-older-coordinators",
        markers_of_older_coordinators,
        f"{IN_TRANSACTION}::test_a_marker_of_an_older_producer_or_coordinator_is_refused",
    ),
    by_test("zombies-write", zombies_write, "tests/unit/log/test_log_producers.py::test_an_older_epoch_is_fenced"),
    by_test(
        "zombies-are-verified",
        zombies_are_verified,
        "tests/unit/txns/test_txns_decisions.py::test_partitions_of_the_wrong_producer",
    ),
    by_test(
        "transactions-begin-too-soon",
        transactions_begin_too_soon,
        "tests/unit/txns/test_txns_decisions.py::test_adding_waits_until_the_last_transaction_is_complete",
    ),
    Mutant("markers-before-the-decision", markers_before_the_decision, ALL, HASTY, (TRANSACTIONS,)),
    Mutant("refused-decisions-count", refused_decisions_count, ALL, TRANSACTIONS, (GROUPS,)),
    by_test(
        "damaged-batches-are-replayed",
        damaged_batches_are_replayed,
        f"{TROUBLE}::test_an_offset_whose_batch_has_rotted_is_served_by_another_replica",
    ),
    by_test(
        "loading-coordinators-are-waited-for",
        loading_coordinators_are_waited_for,
        f"{TROUBLE}::test_a_produce_waits_for_a_coordinator_that_loads_no_longer_than_its_own_time_allows",
    ),
    by_test(
        "all-logs-are-loaded-at-once",
        all_logs_are_loaded_at_once,
        f"{TROUBLE}::test_however_many_coordinators_load_the_loop_replays_one_stretch_at_a_time",
    ),
    by_test(
        "accepted-damage-is-for-ever",
        accepted_damage_is_for_ever,
        f"{TROUBLE}::test_an_election_accepts_the_damage_of_its_day_and_none_of_later",
    ),
)
