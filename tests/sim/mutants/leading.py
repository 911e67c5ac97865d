"""Rules of one partition on its leader, taken away one by one: what it takes, refuses, flushes and forgets."""

from pytest import MonkeyPatch

from headrace.broker.disk.flusher import Flusher
from headrace.broker.net.connection import Connection
from headrace.log.state import LogState
from headrace.log.sync import SyncState
from headrace.partition.appends import Appends
from headrace.partition.reads import Reads
from headrace.partition.role import Role
from headrace.partition.sequences import Sequences
from headrace.partition.upkeep import Upkeep
from headrace.partition.verification import Verifications
from sim.mutant import Mutant, edit
from sim.mutants.plans import HARDENING, HASTY, SAFETY, TRANSACTIONS, UNSEEN
from sim.mutants.plays import by_test

PARTITION = "tests/unit/partition/test_partition.py"
LEADERSHIP = "tests/unit/partition/test_role.py"
GAPS = "tests/unit/partition/test_grace.py"
IN_TRANSACTION = "tests/unit/partition/test_verification.py"
FLUSHER = "tests/unit/broker/test_broker_flusher.py"
SYNC = "tests/unit/log/test_log_sync.py"


def leaders_go_below_their_own_epoch(patch: MonkeyPatch) -> None:
    """Nobody leads below an epoch of its own log."""
    edit(patch, Role.on_state, (" and state.leader_epoch >= self.log.state.epochs.latest", ""))


def transactions_begin_anywhere(patch: MonkeyPatch) -> None:
    """A transaction of a producer that is not known here begins with sequence 0."""
    edit(
        patch,
        Appends._check_in_transaction,
        ("if produce_version >= ADDS_SINCE_PRODUCE and self._sequences.is_gap_of_unknown(header):", "if False:"),
    )


def proofs_outlive_their_leader(patch: MonkeyPatch) -> None:
    """The proof that a transaction is open is void when somebody else has led meanwhile."""
    edit(patch, Verifications.begin_term, ("self._verifying.clear()", "pass"))


def excuses_outlive_their_leader(patch: MonkeyPatch) -> None:
    """Each leadership begins its moments anew, in which a gap is none."""
    edit(patch, Sequences.begin_term, ("self._grace = None", "pass"))


def owed_answers_do_not_count(patch: MonkeyPatch) -> None:
    """The moment in which a gap is none begins when no answer is owed to its producer."""
    edit(patch, Sequences._excuse_gap, ("self.owes(header.producer_id)", "False"))


def relaxed_topics_are_flushed_by_count_only(patch: MonkeyPatch) -> None:
    """A relaxed topic is on disk after its flush.ms."""
    edit(patch, Upkeep.on_tick, ("self._role.ready.owe_sync(self._role)", "pass"))


def relaxed_topics_are_flushed_by_time_only(patch: MonkeyPatch) -> None:
    """A relaxed topic is on disk after so many records as it says."""
    edit(patch, SyncState.is_due, ("end_offset - self.synced_end >= messages_max", "False"))


def what_was_relaxed_stays_so(patch: MonkeyPatch) -> None:
    """A topic that becomes durable owes a sync for what it acknowledged before."""
    edit(patch, Role.on_config, ("self.ready.owe_sync(self)", "pass"))


def acks_go_on_from_memory(patch: MonkeyPatch) -> None:
    """A topic that becomes durable acknowledges nothing more from memory."""
    edit(patch, Role.on_config, ("self.is_durable = self.is_durable or config.is_durable", "pass"))


def own_batches_need_no_replicas(patch: MonkeyPatch) -> None:
    """Markers and records of coordinators are refused while fewer than min.insync.replicas are in sync."""
    edit(patch, Appends.append_own, ("if not leader.has_min_isr:", "if False:"))


def markers_are_written_twice(patch: MonkeyPatch) -> None:
    """A marker that comes again is not written again."""
    edit(patch, Appends.append_marker, ("if producer_epoch == known.epoch and not is_open:", "if False:"))


def plain_batches_slip_into_transactions(patch: MonkeyPatch) -> None:
    """A producer with an open transaction writes nothing outside of it."""
    edit(patch, LogState.check, ("if verdict is None and not header.is_transactional:", "if False:"))


def leaders_show_an_older_end(patch: MonkeyPatch) -> None:
    """A new leader that does not know what is committed says so when it is asked by time."""
    edit(patch, Reads.find_by_time, ("self.check_watermark_known()", "pass"))


def rounds_overlap(patch: MonkeyPatch) -> None:
    """A write that lands while a round of syncs runs waits for the next one."""
    edit(patch, Flusher.begin, ("and not self._running ", ""))


def failed_rounds_look_clean(patch: MonkeyPatch) -> None:
    """What a failed round was to prove stays dirty: whoever waits for the disk is told of the failure."""
    edit(patch, Flusher._fail, ("self._dirty.update(dict.fromkeys(unproven))", "pass"))


def files_close_while_they_are_synced(patch: MonkeyPatch) -> None:
    """A file stays open until it is synced: only open files are told of write-back errors."""
    edit(patch, SyncState.touch, ("file.pin()", "pass"))
    edit(patch, SyncState._end, ("file.unpin()", "pass"))
    edit(patch, SyncState.forget, ("file.unpin()", "pass"))


def two_syncs_of_one_log(patch: MonkeyPatch) -> None:
    """Of one log there is one sync at a time: a later one would vouch for files that only the first one covers."""
    edit(patch, SyncState.begin, ("assert self._in_flight is None", "assert True"))


def requests_overtake(patch: MonkeyPatch) -> None:
    """While a request waits before it changes anything, no later one of its connection is looked at."""
    edit(patch, Connection._is_held.fget, ("or requests.task is not None", ""))


LEADING = (
    by_test(
        "leaders-go-below-their-own-epoch",
        leaders_go_below_their_own_epoch,
        f"{LEADERSHIP}::test_nobody_leads_below_an_epoch_of_its_own_log",
    ),
    by_test(
        "transactions-begin-anywhere",
        transactions_begin_anywhere,
        f"{GAPS}::test_a_transaction_does_not_begin_in_the_middle",
    ),
    by_test(
        "proofs-outlive-their-leader",
        proofs_outlive_their_leader,
        f"{IN_TRANSACTION}::test_a_change_of_leader_makes_a_verification_void",
    ),
    by_test(
        "excuses-outlive-their-leader", excuses_outlive_their_leader, f"{GAPS}::test_a_new_leadership_knows_of_none"
    ),
    by_test(
        "owed-answers-do-not-count",
        owed_answers_do_not_count,
        f"{GAPS}::test_the_moment_begins_when_the_batch_before_is_acknowledged",
    ),
    by_test(
        "relaxed-topics-are-flushed-by-count-only",
        relaxed_topics_are_flushed_by_count_only,
        f"{PARTITION}::test_a_relaxed_topic_is_synced_by_count_and_by_time",
    ),
    by_test(
        "relaxed-topics-are-flushed-by-time-only",
        relaxed_topics_are_flushed_by_time_only,
        f"{PARTITION}::test_a_relaxed_topic_is_synced_by_count_and_by_time",
    ),
    by_test(
        "what-was-relaxed-stays-so",
        what_was_relaxed_stays_so,
        f"{PARTITION}::test_a_topic_that_becomes_durable_owes_a_sync",
    ),
    Mutant("acks-go-on-from-memory", acks_go_on_from_memory, SAFETY, HARDENING),
    by_test(
        "own-batches-need-no-replicas",
        own_batches_need_no_replicas,
        f"{IN_TRANSACTION}::test_only_a_leader_with_enough_replicas_takes_a_marker",
    ),
    by_test(
        "markers-are-written-twice",
        markers_are_written_twice,
        f"{IN_TRANSACTION}::test_a_repeated_marker_is_written_once_and_waits_like_the_first",
    ),
    by_test(
        "plain-batches-slip-into-transactions",
        plain_batches_slip_into_transactions,
        f"{IN_TRANSACTION}::test_a_plain_batch_of_a_producer_in_a_transaction_is_refused",
    ),
    by_test(
        "leaders-show-an-older-end",
        leaders_show_an_older_end,
        f"{PARTITION}::test_a_new_leader_that_does_not_know_what_is_committed_says_so_when_asked_by_time",
    ),
    by_test(
        "rounds-overlap",
        rounds_overlap,
        f"{FLUSHER}::test_a_write_that_an_acknowledgement_brings_about_begins_one_round",
    ),
    by_test(
        "failed-rounds-look-clean",
        failed_rounds_look_clean,
        f"{FLUSHER}::test_until_idle_raises_what_keeps_it_from_ever_being",
    ),
    by_test(
        "files-close-while-they-are-synced",
        files_close_while_they_are_synced,
        f"{SYNC}::test_files_are_pinned_while_unsynced",
    ),
    by_test("two-syncs-of-one-log", two_syncs_of_one_log, f"{SYNC}::test_one_ticket_at_a_time"),
    Mutant("requests-overtake", requests_overtake, (*SAFETY, *UNSEEN), HASTY, (TRANSACTIONS,)),
)
