import pytest
from ledger import Ledger

from headrace.base.errors import Refused
from headrace.cluster.entities import Broker
from headrace.cluster.registration import (
    PRODUCER_IDS_APART,
    EpochUsed,
    found_cluster,
    listed_brokers,
    next_producer_ids,
    register_broker,
    skip_producer_ids,
    unregister_broker,
)
from headrace.wire.codes import ErrorCode

BROKER = Broker(1, 0, "127.0.0.1", 9092, directory_id="d1")


def test_every_registration_has_a_higher_epoch_even_after_the_broker_was_removed() -> None:
    ledger = Ledger(0)
    epochs = []
    for _ in range(3):
        broker, commit = register_broker(ledger.image, BROKER)
        ledger.run([commit])
        epochs.append(broker.epoch)
        assert ledger.image.brokers[1].epoch == broker.epoch
    ledger.run([unregister_broker(ledger.image, 1)])
    epochs.append(register_broker(ledger.image, BROKER).broker.epoch)
    assert epochs == sorted(set(epochs))


def test_an_epoch_is_for_one_life() -> None:
    ledger = Ledger(0)
    ledger.run([register_broker(ledger.image, BROKER._replace(epoch=7)).commit])
    for used in (6, 7):
        with pytest.raises(EpochUsed):
            register_broker(ledger.image, BROKER._replace(epoch=used))
    assert register_broker(ledger.image, BROKER._replace(epoch=8)).broker.epoch == 8


def test_a_registration_on_an_old_image_conflicts() -> None:
    ledger = Ledger(0)
    first, second = register_broker(ledger.image, BROKER), register_broker(ledger.image, BROKER)
    ledger.run([first.commit])
    with pytest.raises(AssertionError, match="conflict on brokers/1"):
        ledger.run([second.commit])


def test_the_same_number_with_another_data_directory_is_refused() -> None:
    ledger = Ledger(0)
    ledger.run([register_broker(ledger.image, BROKER).commit])
    with pytest.raises(Refused) as refused:
        register_broker(ledger.image, BROKER._replace(directory_id="d2"))
    assert refused.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_an_unknown_broker_cannot_be_removed() -> None:
    with pytest.raises(Refused):
        unregister_broker(Ledger(0).image, 1)


def test_a_cluster_is_founded_once() -> None:
    ledger = Ledger(0)
    ledger.run([found_cluster("one")])
    with pytest.raises(AssertionError, match="conflict on cluster"):
        ledger.run([found_cluster("two")])
    assert ledger.image.cluster_id == "one"


def test_producer_ids_are_handed_out_once() -> None:
    ledger = Ledger(0)
    blocks = []
    for _ in range(3):
        block = next_producer_ids(ledger.image)
        ledger.run([block.commit])
        blocks.append(block.ids)
    assert blocks == [range(1000), range(1000, 2000), range(2000, 3000)]
    stale = next_producer_ids(ledger.image)
    ledger.run([next_producer_ids(ledger.image).commit])
    with pytest.raises(AssertionError, match="conflict on producer_ids"):
        ledger.run([stale.commit])


def test_clients_are_told_of_live_brokers_and_never_of_nobody() -> None:
    registered = Ledger(3).image.brokers
    assert [each.id for each in listed_brokers(registered, [3, 1])] == [1, 3]
    assert [each.id for each in listed_brokers(registered, [])] == [1, 2, 3]


def test_ids_that_a_restored_store_may_have_handed_out_are_skipped() -> None:
    ledger = Ledger(1)
    before = next_producer_ids(ledger.image)
    ledger.run([before.commit])
    ledger.run([skip_producer_ids(ledger.image, 3)])
    assert next_producer_ids(ledger.image).ids.start == before.ids.stop + 3 * PRODUCER_IDS_APART
