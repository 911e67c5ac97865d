"""Whether the others can do without a broker."""

import pytest
from partitions import DEFAULTS, cluster, epochs

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import PartitionState
from headrace.cluster.spare import can_spare

THREE = PartitionState((1, 2, 3), (1, 2, 3), 1)
ONE_IS_ENOUGH = BrokerConfig({"min.insync.replicas": "1"})


def is_spared(state: PartitionState, *live: int, defaults: BrokerConfig = DEFAULTS) -> bool:
    ledger = cluster(state)
    return can_spare(ledger.image, 1, epochs(ledger, *live), defaults)


@pytest.mark.parametrize(
    ("state", "live", "spared"),
    [
        (THREE, (1, 2, 3), True),
        # Two others are needed, and one is there.
        (THREE, (1, 2), False),
        (THREE, (1, 2, 4), False),
        (THREE, (1,), False),
        # It need not be live itself to be asked about.
        (THREE, (2, 3), True),
        # Broker 3 has not caught up, and will when 2 leads.
        (THREE._replace(isr=(1, 2)), (1, 2, 3), True),
        # Nobody else has every committed record; then 2, which left last, has.
        (THREE._replace(isr=(1,)), (1, 2, 3), False),
        (THREE._replace(isr=(1,), elr=(2,)), (1, 2, 3), True),
        # Not here, so nothing is gained.
        (PartitionState((2, 3, 4), (2, 3, 4), 2), (1, 2, 3, 4), False),
    ],
)
def test_with_two_in_sync_replicas_needed(state: PartitionState, live: tuple[int, ...], spared: bool) -> None:
    assert is_spared(state, *live) is spared


def test_one_other_is_enough_where_one_in_sync_replica_is() -> None:
    assert is_spared(THREE, 1, 2, defaults=ONE_IS_ENOUGH)
    assert not is_spared(THREE, 1, defaults=ONE_IS_ENOUGH)
