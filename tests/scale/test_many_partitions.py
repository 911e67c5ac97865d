"""Many partitions on three brokers: made, served, one broker lost by kill -9 and taken back, all started again.

The story asserts that what was acknowledged is read back after every step. How long each step takes is for
`python -m bench.partition_curve`; here a step only has to end.
"""

import pytest
from bench.partition_story import BROKERS, Size, Story

from headrace.testing import Cluster

START_SECONDS = 300.0


@pytest.mark.parametrize(
    "size",
    [
        Size(30, 10, 3),
        pytest.param(Size(1_000, 10, 3), marks=pytest.mark.long),
        pytest.param(Size(10_000, 10, 1), marks=pytest.mark.long),
    ],
    ids=lambda size: f"{size.total} partitions, {size.replicas} replicas",
)
def test_many_partitions_start_serve_and_fail_over(size: Size) -> None:
    cluster = Cluster(BROKERS, start_seconds=START_SECONDS)
    try:
        Story(cluster, size, idle_seconds=1.0).play()
    finally:
        cluster.close()
