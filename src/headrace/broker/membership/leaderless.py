"""The count of partitions of the whole cluster that nobody leads: any broker can say, also when all that hold one are gone.

Looks at topics that changed since it was asked last, so asking often costs little.
"""

from headrace.cluster.entities import NO_LEADER
from headrace.cluster.image import Image, changed_topics


class Leaderless:
    def __init__(self) -> None:
        self._seen = Image()
        self._by_topic: dict[str, int] = {}

    def count(self, image: Image) -> int:
        for before, after in changed_topics(self._seen, image):
            if before is not None:
                self._by_topic.pop(before.name, None)
            if after is not None:
                found = sum(state.leader == NO_LEADER for state in after.partitions)
                if found:
                    self._by_topic[after.name] = found
        self._seen = image
        return sum(self._by_topic.values())
