"""Where partitions end when nothing below is undecided, against offsets that change with time."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import ClusterClient, OffsetAt
from headrace.client.decided_ends import StillOpen, decided_ends
from quiet_loop import QuietLoop

PLAIN, OPEN = TopicPartition("orders", 0), TopicPartition("orders", 1)
ENDED_AT = 2.0


class Cluster:
    """On OPEN a transaction from offset 3 to 8 ends at ENDED_AT; records are added all the time."""

    def __init__(self, loop: QuietLoop) -> None:
        self._loop = loop
        self._began = loop.time()
        self.questions: list[set[TopicPartition]] = []

    async def offsets(self, at: Mapping[TopicPartition, int], *, read_committed: bool = True) -> Any:
        self.questions.append(set(at))
        added = int((self._loop.time() - self._began) * 100)
        is_open = read_committed and self._loop.time() - self._began < ENDED_AT
        ends = {PLAIN: 5 + added, OPEN: 3 if is_open else 8 + added}
        return {id: OffsetAt(ends[id], -1) for id in at}


def test_it_waits_for_the_partitions_that_are_undecided_and_for_no_others() -> None:
    loop = QuietLoop()
    cluster = Cluster(loop)
    ends = loop.run(decided_ends(cast(ClusterClient, cluster), [PLAIN, OPEN], 10.0))
    assert ends[PLAIN] == 5 and ends[OPEN] >= 8
    assert cluster.questions[:2] == [{PLAIN, OPEN}] * 2 and set(map(frozenset, cluster.questions[2:])) == {
        frozenset({OPEN})
    }


def test_a_transaction_that_stays_open_is_named() -> None:
    loop = QuietLoop()
    with pytest.raises(StillOpen) as raised:
        loop.run(decided_ends(cast(ClusterClient, Cluster(loop)), [PLAIN, OPEN], ENDED_AT / 2))
    assert raised.value.partition == OPEN


def test_nothing_is_asked_of_no_partitions() -> None:
    loop = QuietLoop()
    assert loop.run(decided_ends(cast(ClusterClient, Cluster(loop)), [], 1.0)) == {}
