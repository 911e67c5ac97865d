"""Deliberately broken brokers, one for each rule that matters: a simulator that cannot fail proves nothing.

Each tooth takes one rule away by a patch of the real code, for the length of a test, and names the invariants of which
some seed must find one broken.
"""

from typing import Any

from pytest import MonkeyPatch

from headrace.broker.broker import Broker
from headrace.broker.handlers.fetch import ActiveFetch
from headrace.cluster import elect
from headrace.cluster.entities import PartitionState
from headrace.log import scan
from headrace.log.producers import Producers
from headrace.partition import follow_session
from headrace.partition.following import Following
from headrace.partition.partition import Partition
from headrace.partition.reads import Reads
from headrace.partition.sequences import Sequences
from headrace.replica.leader import LeaderReplica
from sim.disk import Mount
from sim.inodes import Directory, Inode
from sim.mutant import Mutant as Tooth
from sim.mutant import edit
from sim.storm import Plan

SEEDS = 30


def ack_before_sync(patch: MonkeyPatch) -> None:
    """An ack rests on what is synced, on a durable topic."""
    patch.setattr(Partition, "proven_end", property(lambda self: self.log.end_offset))


def ack_duplicates_at_once(patch: MonkeyPatch) -> None:
    """A duplicate is acknowledged like its original, and no sooner."""
    wait = Partition.wait

    def hasty(self: Partition, end_offset: int, acks: int, waiter: Any, part: object) -> bool:
        return end_offset == self.log.end_offset and wait(self, end_offset, acks, waiter, part)

    patch.setattr(Partition, "wait", hasty)


def sync_counts_later_writes(patch: MonkeyPatch) -> None:
    """A sync proves what was written before it began."""
    on_synced = Partition.on_synced

    def generous(self: Partition, ticket: Any) -> None:
        ticket.target = self.log.end_offset
        on_synced(self, ticket)

    patch.setattr(Partition, "on_synced", generous)


def _lie(patch: MonkeyPatch, kind: type) -> None:
    settle = Mount.settle

    def lying(self: Mount, path: str, node: Inode | Directory, mark: int, lie: bool) -> None:
        settle(self, path, node, mark, lie or (isinstance(node, kind) and path.startswith("/data/logs/")))

    patch.setattr(Mount, "settle", lying)


def files_are_not_synced(patch: MonkeyPatch) -> None:
    """What counts as synced is on the disk."""
    _lie(patch, Inode)


def directories_are_not_synced(patch: MonkeyPatch) -> None:
    """The names of files that count are on the disk."""
    _lie(patch, Directory)


def torn_batches_are_kept(patch: MonkeyPatch) -> None:
    """Recovery ends a log before the first batch whose CRC does not fit."""
    patch.setattr(scan, "crc_ok", lambda *batch: True)


def producers_are_forgotten(patch: MonkeyPatch) -> None:
    """A batch that is in the log already is not written again."""
    patch.setattr(Producers, "check", lambda self, header: None)


def batches_are_skipped(patch: MonkeyPatch) -> None:
    """A reader is given every batch."""
    read = Reads.read

    def skipping(self: Reads, offset: int, *rest: Any) -> Any:
        return read(self, offset + (offset % 7 == 3 and offset + 1 < self._role.high_watermark), *rest)

    patch.setattr(Reads, "read", skipping)


def readers_see_the_log_end(patch: MonkeyPatch) -> None:
    """A reader sees nothing above the high watermark."""
    read = Reads.read
    patch.setattr(
        Reads, "read", lambda self, offset, max_bytes, first, *rest: read(self, offset, max_bytes, first, True)
    )


def a_handler_fails(patch: MonkeyPatch) -> None:
    """No request makes its handler fail."""
    patch.setattr(Reads, "epoch_at", lambda self, offset: {}[offset])


def followers_report_their_log_end(patch: MonkeyPatch) -> None:
    """A follower fetches from its synced end: all below it is on its disk."""
    told = follow_session.position_of
    patch.setattr(follow_session, "position_of", lambda each: told(each)._replace(offset=each.log.end_offset))
    patch.setattr(Partition, "until_proven", lambda self, waiter: False)
    patch.setattr(Partition, "is_proven", True)


def followers_do_not_cut(patch: MonkeyPatch) -> None:
    """A follower cuts what its leader does not have."""
    patch.setattr(Following, "truncate", lambda self, offset, now: None)


def leaders_do_not_look_at_epochs(patch: MonkeyPatch) -> None:
    """A leader tells a follower where their histories part."""
    patch.setattr(ActiveFetch, "_diverging", lambda self, partition, entry: None)


def watermark_of_the_largest_replica(patch: MonkeyPatch) -> None:
    """The high watermark is the least end over the in-sync set."""

    def hasty(self: LeaderReplica, own_end: int) -> int:
        self.high_watermark = max(self.high_watermark, own_end, *(each.end_offset for each in self._followers.values()))
        return self.high_watermark

    patch.setattr(LeaderReplica, "advance", hasty)


def watermark_before_it_is_known(patch: MonkeyPatch) -> None:
    """A new leader names no watermark before it knows how far its predecessor had come."""
    patch.setattr(Reads, "is_watermark_known", True)


def nobody_joins_the_isr(patch: MonkeyPatch) -> None:
    """A replica that has caught up joins the in-sync set."""
    patch.setattr(LeaderReplica, "propose_joiner", lambda self, follower_id, now: None)


def elections_without_a_new_epoch(patch: MonkeyPatch) -> None:
    """Every change of leader has a new epoch."""

    def lead(state: PartitionState, leader: int) -> PartitionState:
        if leader == state.leader:
            return state
        return state._replace(leader=leader, partition_epoch=state.partition_epoch + 1)

    patch.setattr(elect, "lead", lead)


def leases_do_not_matter(patch: MonkeyPatch) -> None:
    """A broker answers as a leader only while its lease lasts."""
    patch.setattr(Broker, "check_lease", lambda self: self.clock.now())


def gaps_are_called_gaps_at_once(patch: MonkeyPatch) -> None:
    """A gap that a change of leader made is not called out of order."""
    patch.setattr(Sequences, "_excuse_gap", lambda self, *batch: None)


def unclean_elections(patch: MonkeyPatch) -> None:
    """When every in-sync replica is dead, the partition waits for one of them, unless its topic allows otherwise."""
    edit(patch, elect.elect, ("if unclean:", "if True:"))


ONE = Plan(brokers=1, scenario="crashes", seconds=8.0)
BUSY = Plan(brokers=1, scenario="power-loss", seconds=8.0, pace=0.02, gap=0.5)
THREE = Plan(brokers=3, scenario="crashes", seconds=10.0, gap=1.0)
DARK = THREE._replace(scenario="power-loss", gap=0.7, pace=0.03)
STILL = THREE._replace(scenario="pauses", pace=0.03)
# Producers with room for more while a leader stands still.
SPARSE = STILL._replace(producers=8, consumers=1, pace=1.0, gap=1.5)
LOST = ("no-ack-lost", "in-sync", "agreed", "caught-up", "watermark")

TEETH = (
    Tooth("ack-before-sync", ack_before_sync, ("synced-ack",), ONE),
    Tooth("ack-duplicates-at-once", ack_duplicates_at_once, ("synced-ack",), STILL),
    Tooth("sync-counts-later-writes", sync_counts_later_writes, LOST, BUSY),
    Tooth("files-are-not-synced", files_are_not_synced, LOST, BUSY),
    Tooth("directories-are-not-synced", directories_are_not_synced, LOST, BUSY),
    Tooth("torn-batches-are-kept", torn_batches_are_kept, ("agreed", "identical", "no-bug", "caught-up"), BUSY),
    Tooth("producers-are-forgotten", producers_are_forgotten, ("no-duplicate",), ONE),
    Tooth("batches-are-skipped", batches_are_skipped, ("dense",), ONE),
    Tooth("readers-see-the-log-end", readers_see_the_log_end, ("watermark",), ONE),
    Tooth("a-handler-fails", a_handler_fails, ("no-bug",), ONE),
    Tooth("followers-report-their-log-end", followers_report_their_log_end, ("synced-ack",), THREE),
    Tooth(
        "followers-do-not-cut", followers_do_not_cut, ("identical", "caught-up", "goes-on"), STILL._replace(calm=15.0)
    ),
    Tooth("leaders-do-not-look-at-epochs", leaders_do_not_look_at_epochs, (*LOST, "identical", "goes-on"), THREE),
    Tooth("watermark-of-the-largest-replica", watermark_of_the_largest_replica, ("synced-ack",), THREE),
    Tooth("watermark-before-it-is-known", watermark_before_it_is_known, ("watermark", "by-time"), THREE),
    Tooth("nobody-joins-the-isr", nobody_joins_the_isr, ("caught-up", "goes-on"), THREE),
    Tooth("elections-without-a-new-epoch", elections_without_a_new_epoch, ("one-leader",), THREE),
    Tooth("leases-do-not-matter", leases_do_not_matter, ("lease",), STILL),
    Tooth("gaps-are-called-gaps-at-once", gaps_are_called_gaps_at_once, ("no-gap", "no-ack-lost"), SPARSE),
    Tooth("unclean-elections", unclean_elections, (*LOST, "identical"), DARK),
)
