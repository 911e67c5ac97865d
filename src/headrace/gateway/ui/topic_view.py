"""Topics as pages show them, out of a survey: how many partitions, how large, how evenly spread, what is wrong. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from headrace.admin.survey import PartitionSeen, Survey
from headrace.gateway.ui.grid import Tone, tag


class TopicView(NamedTuple):
    name: str
    partitions: Sequence[PartitionSeen]

    @property
    def is_internal(self) -> bool:
        return self.name.startswith("_")

    @property
    def replication_factor(self) -> int:
        return max(len(part.targets) for part in self.partitions)

    @property
    def size_bytes(self) -> int:
        """The size of one copy."""
        return sum(part.size_bytes for part in self.partitions)

    @property
    def stored_bytes(self) -> int:
        """The size of all copies."""
        return sum(replica.size_bytes for part in self.partitions for replica in part.held.values())

    @property
    def skew(self) -> float:
        """The largest partition against the mean: 1 is even."""
        mean = self.size_bytes / len(self.partitions)
        return max(part.size_bytes for part in self.partitions) / mean if mean else 1.0

    @property
    def leaderless(self) -> int:
        return sum(part.leader is None for part in self.partitions)

    @property
    def behind(self) -> int:
        return sum(part.is_under_replicated for part in self.partitions)

    @property
    def moving(self) -> int:
        return sum(part.is_moving for part in self.partitions)


def topics_of(seen: Survey) -> dict[str, TopicView]:
    partitions: defaultdict[str, list[PartitionSeen]] = defaultdict(list)
    for part in seen.partitions.values():
        partitions[part.id.topic].append(part)
    return {name: TopicView(name, found) for name, found in partitions.items()}


def state_tags(topic: TopicView) -> list[dict[str, str]]:
    states: list[tuple[int, str, Tone]] = [
        (topic.leaderless, "without leader", "bad"),
        (topic.behind, "behind", "warn"),
        (topic.moving, "moving", "calm"),
    ]
    return [tag(f"{count} {what}", tone) for count, what, tone in states if count] or [tag("in sync", "good")]
