"""Several processes on one etcd: their commits race, one of them is killed."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from etcd_world import EtcdWorld

from etcd_cluster import EtcdCluster
from store_contract import increment
from store_world import World, first, story

RIVAL = """
import asyncio, sys
sys.path[:0] = sys.argv[2:]
from store_contract import increment
from headrace.stores.etcd import EtcdStore

async def main():
    store = await EtcdStore.open(sys.argv[1], deadline_s=20)
    held = await store.acquire("brokers/9", "dir 9", 1, 1000)
    while True:
        await store.renew(held)
        await increment(store, 1)
        print(1, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def world(etcd: EtcdCluster, prefix: str) -> World:
    return EtcdWorld(etcd, prefix)


def rival(url: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", RIVAL, url, str(Path(__file__).parents[2])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@story
async def test_processes_race_and_lose_nothing_and_a_killed_one_loses_its_lease(world: EtcdWorld) -> None:
    store = await world.open()
    watch = store.watch_leases()
    assert await first(watch) == {}
    with rival(world.url) as process:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        assert list(await first(watch)) == ["brokers/9"]
        await increment(store, 50)
        process.kill()
        printed = 1 + len(process.stdout.readlines())
    count = int((await store.load()).entries["count"].value)
    # The last one may have been committed and not been printed any more.
    assert count - 50 - printed in (0, 1)
    assert await first(watch) == {}
