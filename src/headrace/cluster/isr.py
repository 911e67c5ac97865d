"""A leader's change of its in-sync replicas, as a commit: the counterpart of AlterPartition.

The commit compares the partition as the leader knew it, so a leader that was replaced cannot make it, and the
registration of every broker it adds, so a broker that restarted meanwhile (and may have lost records) is not added on
the strength of its earlier life's fetches.
"""

from collections.abc import Collection, Mapping

from headrace.base.errors import Refused
from headrace.base.ids import format_id
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.elect import check_sound, effective_min_isr, with_isr
from headrace.cluster.entities import NO_LEADER, PartitionState
from headrace.cluster.image import Image
from headrace.cluster.records import broker_key, encode, partition_key
from headrace.cluster.rewrite import topic_configs
from headrace.cluster.store import Commit
from headrace.wire.codes import ErrorCode


def alter_isr(
    image: Image,
    topic_id: bytes,
    index: int,
    expected: PartitionState,
    new_isr: Collection[int],
    added: Mapping[int, int],
    defaults: BrokerConfig,
) -> Commit:
    """The commit of a new ISR. `expected` is the state the leader decided on; `added` the broker epoch of each new
    member."""
    topic = image.topic_by_id(topic_id)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, f"there is no topic with the id {format_id(topic_id)}")
    _check(expected, new_isr, added)
    key = partition_key(topic_id, index)
    expect = {key: expected.revision}
    for broker_id, epoch in added.items():
        expect[broker_key(broker_id)] = _registered_revision(image, broker_id, epoch)
    after = with_isr(expected, new_isr, effective_min_isr(expected, topic_configs(defaults)(topic).min_insync_replicas))
    check_sound(after)
    return Commit({key: encode(after)}, expect)


def affirm_isr(topic_id: bytes, index: int, expected: PartitionState) -> Commit:
    """Writes the same state under a new revision: no other change of `expected` can be committed after it."""
    key = partition_key(topic_id, index)
    return Commit({key: encode(expected)}, {key: expected.revision})


def _check(expected: PartitionState, new_isr: Collection[int], added: Mapping[int, int]) -> None:
    if expected.leader == NO_LEADER or expected.leader not in new_isr:
        raise Refused(ErrorCode.INVALID_REQUEST, f"the leader {expected.leader} must be in the ISR {sorted(new_isr)}")
    strangers = set(new_isr).difference(expected.replicas)
    if strangers:
        raise Refused(ErrorCode.INELIGIBLE_REPLICA, f"no replicas of the partition: {sorted(strangers)}")
    assert set(added) == set(new_isr).difference(expected.isr), f"{added} added from {expected.isr} to {new_isr}"


def _registered_revision(image: Image, broker_id: int, epoch: int) -> int:
    broker = image.brokers.get(broker_id)
    if broker is None or broker.epoch != epoch:
        known = "not registered" if broker is None else f"registered with epoch {broker.epoch}"
        raise Refused(ErrorCode.INELIGIBLE_REPLICA, f"broker {broker_id} fetched with epoch {epoch}, but is {known}")
    return broker.revision
