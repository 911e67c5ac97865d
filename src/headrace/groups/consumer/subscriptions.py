"""The topics that the members of a consumer group read: those they name, and those that their expressions match.

What an expression matches is not stored: whoever loads the group knows the topics.
"""

from collections.abc import Iterable, Mapping

from headrace.groups.consumer.records import ConsumerMember
from headrace.groups.partitions import Parts
from headrace.groups.topics import Matches, Sight, Topics


class Subscriptions:
    __slots__ = ("_matches", "_members", "_sight", "_target", "seen_topics")

    def __init__(self, members: Mapping[str, ConsumerMember], target: Mapping[str, Parts]) -> None:
        """`members` and `target` are those of the group, as they change."""
        self._members = members
        self._target = target
        self._matches: dict[str, Matches] = {}
        # That of the member for whom expressions were matched last; None until one reports to this coordinator.
        self._sight: Sight | None = None
        self.seen_topics: Topics | None = None

    def of(self, member: ConsumerMember) -> frozenset[str]:
        named = frozenset(member.topics)
        return named | self._matches[member.expression].topics if member.expression in self._matches else named

    def topics(self) -> frozenset[str]:
        """The topics that any member reads."""
        return frozenset().union(*map(self.of, self._different()))

    def include(self, topic: str) -> bool:
        return any(topic in self.of(member) for member in self._different())

    def look_at(self, topics: Topics, sight: Sight | None) -> None:
        """Takes in the topics of now; matches expressions anew, each once however many members have it, by the sight of the
        member that reports, or as before where none does. Before any has reported, only what is assigned is in sight."""
        if sight is not None:
            self._sight = sight
        wanted = {member.expression for member in self._members.values() if member.expression}
        self._matches = {text: self._matches.get(text) or Matches(text) for text in sorted(wanted)}
        for matches in self._matches.values():
            matches.look(topics.by_name, self._sight or self._assigned(topics))
        # The first report looks again.
        self.seen_topics = topics if self._sight is not None else None

    def _assigned(self, topics: Topics) -> Sight:
        ids = {topic_id for parts in self._target.values() for topic_id, _ in parts}
        return frozenset(topics.names[each] for each in ids & topics.names.keys()).__contains__

    def _different(self) -> Iterable[ConsumerMember]:
        """One member of each subscription: large groups mostly have one."""
        return {(member.topics, member.expression): member for member in self._members.values()}.values()
