"""Changes around brokers and the cluster itself: its founding, registrations, and blocks of producer ids."""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from headrace.base.errors import Refused
from headrace.cluster.entities import Broker, Cluster, ControllerClaim, ProducerIds
from headrace.cluster.image import Image
from headrace.cluster.records import CLUSTER, CONTROLLER, PRODUCER_IDS, broker_key, encode
from headrace.cluster.store import ABSENT, Commit
from headrace.wire.codes import ErrorCode

PRODUCER_ID_BLOCK: Final = 1_000
PRODUCER_IDS_APART: Final = 1_000_000_000


class EpochUsed(Exception):
    """Another life of the broker is registered with this epoch, or a later one."""


class Registration(NamedTuple):
    broker: Broker
    commit: Commit


class ProducerIdBlock(NamedTuple):
    ids: range
    commit: Commit


def found_cluster(cluster_id: str) -> Commit:
    """Founds the cluster. If brokers start on an empty store together, one does; the others conflict and load again."""
    return Commit({CLUSTER: encode(Cluster(cluster_id))}, {CLUSTER: ABSENT})


def claim_control(image: Image, broker_id: int, epoch: int) -> Commit:
    """Claims control with the first commit after taking the controller's lease; every later commit expects the claim."""
    before = ABSENT if image.controller is None else image.controller.revision
    return Commit({CONTROLLER: encode(ControllerClaim(broker_id, epoch))}, {CONTROLLER: before})


def next_epoch(image: Image) -> int:
    """An epoch above all that a broker was ever given: those were at most the revision of their commit."""
    return image.revision + 1


def register_broker(image: Image, broker: Broker) -> Registration:
    """Registers a broker under a new epoch. Take its lease under `next_epoch(image)` first, then commit this.

    A broker that comes with an epoch has its lease under it and keeps it, though the image has moved on meanwhile:
    under another one nobody would take it for alive. `EpochUsed` when a commit of an earlier life was faster, which
    nobody waited for any more: then it is a lease under a later epoch that is needed.
    """
    known = image.brokers.get(broker.id)
    if known is not None and known.directory_id and broker.directory_id and known.directory_id != broker.directory_id:
        raise Refused(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"broker {broker.id} is registered with another data directory, on {known.host}:{known.port}",
        )
    if known is not None and 0 < broker.epoch <= known.epoch:
        raise EpochUsed(f"broker {broker.id} is registered with epoch {known.epoch}, this is {broker.epoch}")
    fresh = broker if broker.epoch > 0 else broker._replace(epoch=next_epoch(image))
    key = broker_key(broker.id)
    return Registration(fresh, Commit({key: encode(fresh)}, {key: ABSENT if known is None else known.revision}))


def unregister_broker(image: Image, broker_id: int) -> Commit:
    known = image.brokers.get(broker_id)
    if known is None:
        raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is no broker {broker_id}")
    return Commit({broker_key(broker_id): None}, {broker_key(broker_id): known.revision})


def listed_brokers(registered: Mapping[int, Broker], live: Collection[int]) -> list[Broker]:
    """The brokers in Metadata: those alive; if there is none, all that are registered.

    A client drops every broker that a reply does not name. If a broker that woke up after its own lease named none, the
    client had nobody left to ask (librdkafka then stays silent for minutes).
    """
    return [registered[each] for each in sorted(live)] or list(registered.values())


def next_producer_ids(image: Image) -> ProducerIdBlock:
    """Takes a block of producer ids, unique for ever: it is written off before its first id is handed out."""
    first, revision = image.producer_ids
    record = ProducerIds(first + PRODUCER_ID_BLOCK)
    commit = Commit({PRODUCER_IDS: encode(record)}, {PRODUCER_IDS: revision})
    return ProducerIdBlock(range(first, record.next_id), commit)


def skip_producer_ids(image: Image, stretches: int) -> Commit:
    """Skips all producer ids that may have been given out since the copy that the store was restored from.

    An id given twice makes the records of the second producer look like retries of the first's. `stretches` is drawn by
    chance: a copy that is restored again knows nothing of what was given out after the first time.
    """
    next_id, revision = image.producer_ids
    record = ProducerIds(next_id + stretches * PRODUCER_IDS_APART)
    return Commit({PRODUCER_IDS: encode(record)}, {PRODUCER_IDS: revision})
