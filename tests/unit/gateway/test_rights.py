"""Rights on the cluster: what the gateway itself shows by them, it shows to nobody of whom it does not know them."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.base.errors import Refused
from headrace.gateway import rights as rights_module
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.rights import NOT_TOLD, ClusterRights, Right
from headrace.gateway.ui import watch as watch_module
from headrace.gateway.ui.watch import Watch

DESCRIBE = 1 << Right.DESCRIBE


class Told:
    """An admin whose cluster tells these operations."""

    def __init__(self, operations: int) -> None:
        self.operations = operations

    async def ask(self, *_: Any) -> Any:
        return SimpleNamespace(cluster_authorized_operations=self.operations)


@pytest.mark.parametrize("operations", [0, NOT_TOLD, 1 << Right.ALTER])
def test_what_is_not_told_is_not_there(operations):
    rights = ClusterRights(Told(operations))
    with pytest.raises(Refused):
        asyncio.run(rights.require([Right.DESCRIBE]))
    assert not rights.has(Right.DESCRIBE)
    asyncio.run(ClusterRights(Told(DESCRIBE)).require([Right.DESCRIBE]))


def test_an_open_page_sees_the_whole_cluster_no_longer_than_it_may(monkeypatch):
    async def no_survey(*_: Any, **__: Any) -> object:
        return object()

    monkeypatch.setattr(watch_module, "survey", no_survey)
    monkeypatch.setattr(rights_module, "KNOWN_SECONDS", -1.0)
    admin = Told(DESCRIBE)
    whole, own = object(), object()
    gateway = SimpleNamespace(
        admin=admin,
        is_caller=True,
        rights=ClusterRights(admin),
        part={Monitor: own}.get,
        home=SimpleNamespace(part={Monitor: whole}.get),
    )

    async def run() -> None:
        watch = Watch(gateway, dict)
        await watch.look_at_rights()
        assert watch.monitor is whole
        admin.operations = 0
        await watch.cluster.get(0)
        assert watch.monitor is own
        admin.operations = NOT_TOLD
        await watch.cluster.get(0)
        assert watch.monitor is own

    asyncio.run(run())
