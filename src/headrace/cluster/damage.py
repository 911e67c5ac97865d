"""Standing down from a partition whose copy on this broker's disk was found damaged while the broker runs.

The same rules as for a broker that starts with a damaged log (`rejoin`): out of ISR and ELR, another in sync leads. The last
in sync stays and is marked, and the partition is offline until somebody decides for an unclean election.
"""

from collections.abc import Mapping

from headrace.cluster.entities import PartitionState
from headrace.cluster.image import Image
from headrace.cluster.rejoin import Doubt, doubted, stood_down
from headrace.cluster.rewrite import Rewrite, alive, commit_rewrites
from headrace.cluster.store import Commit


def is_claimed(state: PartitionState, broker_id: int) -> bool:
    """Whether the cluster still counts on this broker's copy."""
    return state.leader == broker_id or (broker_id in (*state.isr, *state.elr) and broker_id not in state.damaged)


def must_stand_down(state: PartitionState, broker_id: int, doubt: Doubt) -> bool:
    """Whether to stand down: the last replica that may lead goes on as long as it is not known to be damaged."""
    is_last = state.isr == (broker_id,) and not state.elr
    return is_claimed(state, broker_id) and not (doubt is not Doubt.DAMAGED and is_last)


def stand_down(
    image: Image, broker_id: int, topic_id: bytes, index: int, live: Mapping[int, int], doubt: Doubt = Doubt.DAMAGED
) -> list[Commit]:
    """The commit that stands down; none where the cluster does not count on the copy, or the topic is gone."""
    topic = image.topic_by_id(topic_id)
    if topic is None or not must_stand_down(topic.partitions[index], broker_id, doubt):
        return []
    after = doubted(topic.partitions[index], broker_id, doubt)
    return commit_rewrites([Rewrite(topic, index, stood_down(after, broker_id, alive(image, live)))])
