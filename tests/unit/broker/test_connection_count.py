"""Who may still connect: limits of broker, listener and address, and what is kept for other brokers."""

from headrace.broker.net.acceptor import Rate
from headrace.broker.net.connection_limits import ConnectionCount, ConnectionLimits, connection_limits
from headrace.broker.net.descriptors import Descriptors
from headrace.cluster.broker_config import BrokerConfig

ROOMY = ConnectionLimits(broker_max=100, listener_max=100, per_ip_max=100, idle_seconds_max=600.0)


def counted(limits: ConnectionLimits, count: ConnectionCount, ip: str = "a", for_brokers: bool = False) -> str:
    return count.enter(ip, limits, 0, for_brokers)


def test_each_limit_names_itself() -> None:
    count = ConnectionCount(Descriptors(100_000))
    assert count.enter("a", ROOMY, 100, False) == "max.connections is reached"
    assert counted(ROOMY._replace(broker_max=0), count) == "max.connections is reached"
    assert counted(ROOMY._replace(per_ip_max=0), count) == "max.connections.per.ip is reached"
    assert counted(ROOMY, count) == ""


def test_an_address_may_have_a_limit_of_its_own() -> None:
    limits = connection_limits(
        BrokerConfig({"max.connections.per.ip": "1", "max.connections.per.ip.overrides": "10.0.0.1:2,::1:0"}), "X"
    )
    count = ConnectionCount(Descriptors(100_000))
    assert [counted(limits, count, "10.0.0.1") for _ in range(3)] == ["", "", "max.connections.per.ip is reached"]
    assert [counted(limits, count, "10.0.0.2") for _ in range(2)] == ["", "max.connections.per.ip is reached"]
    assert counted(limits, count, "::1") == "max.connections.per.ip is reached"


def test_a_listener_may_have_a_limit_of_its_own() -> None:
    config = BrokerConfig({"max.connections": "9", "listener.name.out.max.connections": "3"})
    assert connection_limits(config, "OUT").listener_max == 3
    assert connection_limits(config, "IN").listener_max == 9
    assert connection_limits(config, "OUT").broker_max == 9


def test_addresses_of_brokers_are_not_limited() -> None:
    count, limits = ConnectionCount(Descriptors(100_000)), ROOMY._replace(per_ip_max=1)
    assert [counted(limits, count, for_brokers=True) for _ in range(3)] == ["", "", ""]
    assert counted(limits, count) == ""


def test_a_full_broker_makes_room_for_another_one_only() -> None:
    count, limits = ConnectionCount(Descriptors(100_000)), ROOMY._replace(broker_max=1)
    closed = []

    def make_room() -> bool:
        closed.append(True)
        return True

    count.make_room = make_room
    assert counted(limits, count) == ""
    assert counted(limits, count) == "max.connections is reached"
    assert closed == []
    assert counted(limits, count, for_brokers=True) == ""
    assert closed == [True]


def test_the_last_descriptors_are_for_brokers() -> None:
    descriptors = Descriptors(100_000)
    descriptors.left = 3
    count = ConnectionCount(descriptors)
    count.kept = 2
    assert [bool(counted(ROOMY, count)) for _ in range(2)] == [False, True]
    assert [bool(counted(ROOMY, count, for_brokers=True)) for _ in range(3)] == [False, False, True]


def test_clients_in_their_handshake_take_none_of_those_that_are_kept() -> None:
    descriptors = Descriptors(100_000)
    descriptors.left = 3
    count = ConnectionCount(descriptors)
    count.kept = 2
    assert [count.take_descriptor(for_brokers=False) for _ in range(2)] == [True, False]
    assert [count.take_descriptor(for_brokers=True) for _ in range(3)] == [True, True, False]


def test_who_leaves_makes_room() -> None:
    count, limits = ConnectionCount(Descriptors(100_000)), ROOMY._replace(broker_max=1, per_ip_max=1)
    for _ in range(5):
        assert counted(limits, count) == ""
        count.leave("a", False)


def test_new_connections_wait_when_they_come_too_fast() -> None:
    rate = Rate(10, now=0.0)
    taken = 0
    while rate.seconds_to_wait(0.0) == 0:
        rate.take()
        taken += 1
    assert taken == 10
    assert 0 < rate.seconds_to_wait(0.0) <= 0.1
    assert rate.seconds_to_wait(0.1) == 0
    assert rate.seconds_to_wait(100.0) == 0
