"""Who counts as alive, who takes admin requests, and which settings hold, as image and leases say."""

from types import SimpleNamespace
from typing import Any

from batches import NOW
from headrace.broker.membership.view import View
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Broker, BrokerOverrides, ControllerClaim
from headrace.cluster.image import Image

BROKERS = {number: Broker(number, epoch=number * 10, host="h", port=9092) for number in (1, 2, 3)}
REGISTERED = Image(brokers=BROKERS, controller=ControllerClaim(2, 20))


def view_of(image: Image, **settings: str) -> View:
    metadata: Any = SimpleNamespace(image=image)
    clock: Any = SimpleNamespace(now=lambda: NOW)
    return View(1, metadata, BrokerConfig(settings), clock)


def test_alive_is_who_has_a_lease_in_the_epoch_of_its_registration() -> None:
    view = view_of(REGISTERED)
    view.on_leases({1: 10, 2: 19, 4: 40})
    assert view.live == {1: 10}


def test_a_registration_that_comes_after_its_lease_counts() -> None:
    view = view_of(Image())
    view.on_leases({1: 10, 2: 20})
    assert view.live == {}
    view.metadata.image = REGISTERED
    view.on_image()
    assert view.live == {1: 10, 2: 20}


def test_whoever_has_joined_is_alive_before_the_store_lists_its_lease() -> None:
    view = view_of(REGISTERED)
    view.on_leases({2: 20})
    view.epoch = 10
    view.on_joined()
    assert view.live == {1: 10, 2: 20}


def test_a_dead_controller_is_none() -> None:
    view = view_of(REGISTERED)
    view.on_leases({1: 10, 2: 20})
    assert view.controller_id == 2
    view.on_leases({1: 10})
    assert view.controller_id == 1, "any broker takes admin requests"


def test_settings_of_the_image_hold_before_those_of_the_start() -> None:
    view = view_of(REGISTERED, **{"log.cleaner.threads": "2"})
    view.on_image()
    assert view.config.number("log.cleaner.threads") == 2
    changed = {"1": BrokerOverrides({"log.cleaner.threads": "3"})}
    view.metadata.image = REGISTERED._replace(broker_overrides=changed)
    view.on_image()
    assert view.config.number("log.cleaner.threads") == 3
    view.metadata.image = REGISTERED
    view.on_image()
    assert view.config.number("log.cleaner.threads") == 2


def test_a_broker_that_leaves_is_told_while_it_lives() -> None:
    view = view_of(Image(brokers={**BROKERS, 3: BROKERS[3]._replace(leaving=True)}))
    view.on_leases({1: 10, 2: 20, 3: 30})
    assert view.leaving == [3]
    view.on_leases({1: 10, 2: 20})
    assert view.leaving == []
