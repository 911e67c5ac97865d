"""Brokers that keep their metadata in etcd: `headrace serve --store etcd://…`."""

from pathlib import Path

import pytest
from traffic import Traffic

from etcd_cluster import EtcdCluster, MissingEtcd
from headrace.testing import Cluster


def test_fail_over_and_a_move_with_metadata_in_etcd(lab_of, tmp_path: Path) -> None:
    try:
        etcd = EtcdCluster(tmp_path)
    except MissingEtcd as missing:
        pytest.skip(str(missing))
    with etcd, Cluster(4, store=etcd.url("/headrace")) as cluster:
        lab = lab_of(cluster)
        topic = lab.create("orders")
        with Traffic(cluster.bootstrap, topic) as traffic:
            cluster.kill(1)
            traffic.progress()
            cluster.start(1)
            lab.until_healthy()
            lab.cli("cluster", "drain", "2", "--yes")
            seen = lab.until_healthy()
            assert all(2 not in each.replicas for each in seen.partitions.values())
            traffic.progress()
        traffic.check()
