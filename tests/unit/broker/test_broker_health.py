"""Health of brokers that die, return, lose the store and stop, on virtual time."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.broker.metrics.health import UNTRIED_SECONDS_MAX, liveness, readiness
from headrace.broker.metrics.server import MetricsServer
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest
from sim.host import PORT, Host
from sim.wireclient import WireClient
from sim.world import World

PATIENCE = 60.0


@pytest.fixture
def three() -> Iterator[World]:
    """Three brokers with a topic of three replicas."""
    world = World("health", 3, {})
    world.start_all()
    assert world.agenda.run(PATIENCE, until=lambda: all(host.is_serving for host in world.hosts))
    loop = world.client_loop("client")

    async def create() -> None:
        client = await WireClient.open(loop, (world.hosts[0].address, PORT))
        await client.ask(CreateTopicsRequest([CreatableTopic("orders", 4, 3)]), 7)

    done_in(world, loop, create())
    until(world, lambda: all(ready(world, host) == [] for host in world.hosts))
    yield world
    world.end()


def done_in(world: World, loop: Any, work: Coroutine[Any, Any, Any]) -> Any:
    task = loop.create_task(work)
    assert world.agenda.run(PATIENCE, until=task.done)
    return task.result()


def until(world: World, condition: Callable[[], bool], step: float = 0.05) -> None:
    deadline = world.agenda.now + PATIENCE
    while not condition():
        assert world.agenda.now < deadline, "it did not come true in time"
        world.agenda.run(step)


def ready(world: World, host: Host) -> list[str]:
    """The checks that fail; of a broker that has not begun to open its logs, all do."""
    broker = getattr(host.node, "broker", None)
    if broker is None:
        return ["process"]
    return [check.name for check in done_in(world, host.loop, readiness(broker)) if not check.is_passed]


def alive(host: Host) -> bool:
    return all(check.is_passed for check in liveness(host.node.broker))


def test_a_broker_is_ready_again_when_it_is_in_sync_again(three: World) -> None:
    first, second, _ = three.hosts
    three.kill(second)
    until(three, lambda: all(2 not in partition.state.isr for partition in first.partitions()))
    # That another one is gone is no reason to restart this one, nor to take it out of service.
    assert ready(three, first) == []
    seen: set[str] = set()
    three.start(second)
    until(three, lambda: not (seen.update(failed := ready(three, second)) or failed), step=0.001)
    assert {"start", "in_sync"} <= seen
    assert all(2 in partition.state.isr for partition in first.partitions())


def test_without_the_store_nobody_is_ready_and_all_are_alive(three: World) -> None:
    for host in three.hosts:
        host.cut_store(True)
    until(three, lambda: all("lease" in ready(three, host) for host in three.hosts))
    three.agenda.run(2 * UNTRIED_SECONDS_MAX)
    assert all(alive(host) for host in three.hosts)
    for host in three.hosts:
        host.cut_store(False)
    until(three, lambda: all(ready(three, host) == [] for host in three.hosts))


def test_a_broker_that_asks_for_no_lease_any_more_is_not_alive(three: World) -> None:
    host = three.hosts[0]
    (renewals,) = (task for task in asyncio.all_tasks(host.loop) if task.get_name() == "lease")
    # As if a call of the store never came back.
    renewals.cancel()
    three.agenda.run(UNTRIED_SECONDS_MAX + 1)
    assert not alive(host)


def test_a_broker_whose_disk_hangs_steps_aside_and_is_not_killed_for_it(three: World) -> None:
    host = three.hosts[0]
    host.disk_hangs = True
    host.loop.create_task(host.node._watch.in_thread(lambda: None))
    until(three, lambda: "disk" in ready(three, host))
    three.agenda.run(2 * UNTRIED_SECONDS_MAX)
    assert alive(host)
    assert {"disk", "lease"} <= set(ready(three, host))


def test_a_broker_that_leaves_is_not_ready(three: World) -> None:
    host = three.hosts[0]
    seen: set[str] = set()
    three.stop(host)
    until(three, lambda: bool(seen.update(ready(three, host))) or "staying" in seen)
    assert "staying" in seen


def test_a_broker_that_opens_its_logs_is_alive_and_has_no_metrics_yet() -> None:
    server = MetricsServer(SimpleNamespace(id=7))

    def ask(path: str) -> tuple[str, str]:
        head, _, body = asyncio.run(server._response(f"GET {path} HTTP/1.1\r\n\r\n".encode())).partition(b"\r\n\r\n")
        return head.split(b" ")[1].decode(), body.decode()

    assert {path: ask(path)[0] for path in ("/livez", "/healthz", "/readyz", "/metrics")} == {
        "/livez": "200",
        "/healthz": "200",
        "/readyz": "503",
        "/metrics": "503",
    }
    assert json.loads(ask("/readyz")[1]) == {
        "status": "not ready",
        "broker": 7,
        "checks": {"start": {"passed": False, "detail": "the logs are being opened"}},
    }
