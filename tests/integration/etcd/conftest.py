"""One etcd for all tests that do not harm it; each works under a prefix of its own."""

import uuid
from collections.abc import Iterator

import pytest

from etcd_cluster import EtcdCluster, MissingEtcd

pytest.register_assert_rewrite("store_contract")


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with new_etcd(tmp_path_factory, 1) as cluster:
        yield cluster


@pytest.fixture
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    """Of its own for each test, to be broken."""
    with new_etcd(tmp_path_factory, 3) as cluster:
        yield cluster


def new_etcd(tmp_path_factory: pytest.TempPathFactory, size: int) -> EtcdCluster:
    try:
        return EtcdCluster(tmp_path_factory.mktemp("etcd"), size)
    except MissingEtcd as missing:
        pytest.skip(str(missing))


@pytest.fixture
def prefix() -> str:
    return f"/{uuid.uuid4().hex}"
