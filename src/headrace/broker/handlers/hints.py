"""Hints whom else to ask: the leader of a partition and the brokers' addresses, as replies carry them (KIP-951)."""

from headrace.broker.handlers.addresses import addresses
from headrace.cluster.image import Image
from headrace.wire.messages.leader_hints import LeaderIdAndEpoch, NodeEndpoint


def leader_hint(image: Image, topic: str, index: int) -> LeaderIdAndEpoch | None:
    state = image.partition(topic, index)
    if state is None or state.leader < 0:
        return None
    return LeaderIdAndEpoch(state.leader, state.leader_epoch)


def node_endpoints(image: Image, listener: str) -> list[NodeEndpoint]:
    return [NodeEndpoint(*each) for each in addresses(image.brokers.values(), listener)]
