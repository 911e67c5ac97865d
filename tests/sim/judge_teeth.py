"""Brokers that break what one judge alone looks at, as in `teeth`: a judge that never failed is believed blindly."""

from collections.abc import Sequence

from pytest import MonkeyPatch

from headrace.broker.disk.partition_directories import PartitionDirectories
from headrace.broker.upkeep import retention
from headrace.log.producers import Producers
from headrace.log.retention import UNLIMITED, Retained
from headrace.partition.fetch_session import FetchSessions
from headrace.partition.partition import Partition
from headrace.partition.reads import Reads
from sim.mutant import edit
from sim.storm import Plan
from sim.teeth import Tooth


def every_time_is_the_first(patch: MonkeyPatch) -> None:
    """A time is answered with the first record that is as new."""
    patch.setattr(Reads, "find_by_time", lambda self, timestamp, *rest: (timestamp, self._role.log.start_offset))


def internal_topics_count_before_the_sync(patch: MonkeyPatch) -> None:
    """What coordinators acknowledge rests on what is synced, as all else."""
    proven = Partition.proven_end.fget
    assert proven is not None
    hasty = property(lambda self: self.log.end_offset if self.is_internal else proven(self))
    patch.setattr(Partition, "proven_end", hasty)


def producers_are_kept_for_ever(patch: MonkeyPatch) -> None:
    """A partition remembers so many producers and no more."""
    patch.setattr(Producers, "forget_surplus", lambda self, *most: None)


def sessions_are_kept_for_ever(patch: MonkeyPatch) -> None:
    """A broker keeps so many fetch sessions and no more."""
    patch.setattr(FetchSessions, "_evict_stale", lambda self: True)


def retention_leaves_the_newest_segment_only(patch: MonkeyPatch) -> None:
    """Retention by size leaves as much as the topic is to keep."""

    def greedy(segments: Sequence[Retained], retention_bytes: int) -> int:
        return segments[0 if retention_bytes == UNLIMITED else -1].base_offset

    patch.setattr(retention, "start_by_size", greedy)


def directories_are_taken_as_they_are(patch: MonkeyPatch) -> None:
    """A topic that is made again under its name has nothing of the one before."""
    edit(patch, PartitionDirectories.claim, ("if owner == wanted:", "if owner:"))


ONE = Plan(brokers=1, scenario="crashes", seconds=6.0)
GROUPS = Plan(scenario="groups", seconds=8.0, producers=1, consumers=0, pace=0.5, is_narrow=True)
LIMITED = Plan(seconds=12.0, gap=0.3, pace=0.05)
PASSING = Plan(scenario="crashes", producers=1, consumers=1, pace=0.5, gap=0.8, has_passing=True)
UNPROVEN = ("synced-ack", "in-sync")
STRANGE = ("identical", "agreed", "no-duplicate", "dense", "caught-up")

JUDGE_TEETH = (
    Tooth("every-time-is-the-first", every_time_is_the_first, ("by-time",), ONE),
    Tooth("internal-topics-count-before-the-sync", internal_topics_count_before_the_sync, UNPROVEN, GROUPS),
    Tooth("producers-are-kept-for-ever", producers_are_kept_for_ever, ("bounded",), ONE._replace(producers_max=24)),
    Tooth("sessions-are-kept-for-ever", sessions_are_kept_for_ever, ("bounded",), ONE._replace(sessions_max=1)),
    Tooth("directories-are-taken-as-they-are", directories_are_taken_as_they_are, STRANGE, PASSING),
    Tooth("retention-is-greedy", retention_leaves_the_newest_segment_only, ("retained",), LIMITED),
)
