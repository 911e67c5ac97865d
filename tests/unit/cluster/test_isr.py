import pytest
from partitions import DEFAULTS, ID, cluster, epochs, state

from headrace.base.errors import Refused
from headrace.cluster.entities import NO_LEADER, PartitionState
from headrace.cluster.isr import alter_isr
from headrace.cluster.registration import register_broker
from headrace.wire.codes import ErrorCode

THREE = PartitionState((1, 2, 3), (1, 2, 3), 1, 5, 5)


def test_who_leaves_below_the_minimum_is_remembered_as_eligible() -> None:
    ledger = cluster(THREE)
    ledger.run([alter_isr(ledger.image, ID, 0, state(ledger), (1, 3), {}, DEFAULTS)])
    assert (state(ledger).isr, state(ledger).elr, state(ledger).partition_epoch) == ((1, 3), (), 6)
    ledger.run([alter_isr(ledger.image, ID, 0, state(ledger), (1,), {}, DEFAULTS)])
    assert (state(ledger).isr, state(ledger).elr, state(ledger).leader_epoch) == ((1,), (3,), 5)
    ledger.run([alter_isr(ledger.image, ID, 0, state(ledger), (2, 1), {2: epochs(ledger)[2]}, DEFAULTS)])
    assert (state(ledger).isr, state(ledger).elr) == ((1, 2), ())


def test_a_leader_that_was_replaced_cannot_change_the_isr() -> None:
    ledger = cluster(THREE)
    first, second = (alter_isr(ledger.image, ID, 0, state(ledger), isr, {}, DEFAULTS) for isr in ((1, 2), (1, 3)))
    ledger.run([first])
    with pytest.raises(AssertionError, match="conflict on partitions/"):
        ledger.run([second])


def test_a_broker_that_registered_anew_meanwhile_is_not_added() -> None:
    ledger = cluster(THREE._replace(isr=(1, 2)))
    epoch = epochs(ledger)[3]
    commit = alter_isr(ledger.image, ID, 0, state(ledger), (1, 2, 3), {3: epoch}, DEFAULTS)
    ledger.run([register_broker(ledger.image, ledger.image.brokers[3]._replace(epoch=0)).commit])
    with pytest.raises(AssertionError, match="conflict on brokers/3"):
        ledger.run([commit])
    with pytest.raises(Refused) as refused:
        alter_isr(ledger.image, ID, 0, state(ledger), (1, 2, 3), {3: epoch}, DEFAULTS)
    assert refused.value.code == ErrorCode.INELIGIBLE_REPLICA


@pytest.mark.parametrize(
    ("topic_id", "given", "isr", "added"),
    [
        (ID, THREE, (), {}),
        (ID, THREE, (2, 3), {}),
        (ID, THREE._replace(leader=NO_LEADER), (1, 2), {}),
        (ID, THREE, (1, 2, 3, 4), {4: 4}),
        (bytes(16), THREE, (1, 2), {}),
    ],
)
def test_refusals(topic_id: bytes, given: PartitionState, isr: tuple[int, ...], added: dict[int, int]) -> None:
    ledger = cluster(given)
    with pytest.raises(Refused):
        alter_isr(ledger.image, topic_id, 0, state(ledger), isr, added, DEFAULTS)
