"""The contract of the metadata store, kept over a real etcd."""

import pytest
from etcd_world import EtcdWorld

from etcd_cluster import EtcdCluster
from store_contract import *  # noqa: F403
from store_world import World


@pytest.fixture
def world(etcd: EtcdCluster, prefix: str) -> World:
    return EtcdWorld(etcd, prefix)
