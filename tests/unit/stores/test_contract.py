"""The contract of the metadata store, kept in memory and on SQLite. Over etcd: tests/integration/etcd."""

from pathlib import Path

import pytest

from store_contract import *  # noqa: F403
from store_world import MemoryWorld, SqliteWorld, World


@pytest.fixture(params=[MemoryWorld, SqliteWorld], ids=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return request.param(tmp_path)
