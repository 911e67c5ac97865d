import asyncio

import pytest

from headrace.cli.failure import Failure
from headrace.cli.run.compose import start_node
from headrace.cli.run.open_network import Door, is_loopback, require_loopback, require_safe
from headrace.cli.run.serve_options import ServeOptions


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)
    require_safe([Door("A", "PLAINTEXT", host, 1)])
    require_loopback("the gateway", host, 1)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "10.0.0.1", "broker-1.example.com", "localhost.example.com"])
def test_a_network(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(Failure, match=r"the gateway at .*:8080 would serve everybody"):
        require_loopback("the gateway", host, 8080)


@pytest.mark.parametrize(
    ("door", "cause"),
    [
        (
            Door("A", "PLAINTEXT", "", 9092),
            "listener A at 0.0.0.0:9092 would serve everybody on the network, without enc",
        ),
        (Door("A", "SASL_PLAINTEXT", "10.0.0.1", 9092), "without encryption"),
        (Door("A", "SSL", "10.0.0.1", 9092), "ssl.client.auth is not required"),
        (Door("A", "TELNET", "10.0.0.1", 9092), "would serve everybody"),
    ],
)
def test_weak_doors_to_a_network_are_refused(door: Door, cause: str) -> None:
    with pytest.raises(Failure) as refused:
        require_safe([Door("SAFE", "SASL_SSL", "", 1), Door("MUTUAL", "SSL", "", 2, wants_certificate=True), door])
    assert cause in refused.value.cause
    assert "--allow-insecure-network" in refused.value.fix


def test_a_broker_does_not_start_for_a_network() -> None:
    with pytest.raises(Failure, match=r"listener PLAINTEXT at 0\.0\.0\.0:9092"):
        asyncio.run(start_node(ServeOptions(host="0.0.0.0")))


def test_it_is_said_on_the_command_line() -> None:
    options = ServeOptions(host="0.0.0.0", allow_insecure_network=True)
    assert "--allow-insecure-network" in options.to_arguments()
