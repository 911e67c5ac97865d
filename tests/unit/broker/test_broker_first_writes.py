"""What a producer is told when the coordinator of its transaction does not let its first write in, by Produce version."""

from types import SimpleNamespace
from typing import Any

import pytest

from batches import batch
from headrace.base.errors import Refused
from headrace.broker.handlers.first_writes import FirstWrites
from headrace.cluster.broker_config import BrokerConfig
from headrace.txns.questions import AddPartitions
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from partition_rig import ID, PartitionRig

VERIFIES, ADDS = 11, 12
AGAIN = ErrorCode.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize(
    ("version", "said", "told"),
    [
        (VERIFIES, ErrorCode.CONCURRENT_TRANSACTIONS, AGAIN),
        (ADDS, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ADDS, ErrorCode.NOT_COORDINATOR, AGAIN),
        (ADDS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, AGAIN),
        (ADDS, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (VERIFIES, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (VERIFIES - 1, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_what_a_producer_is_told(version: int, said: ErrorCode, told: ErrorCode) -> None:
    async def until_checked(question: AddPartitions, seconds_max: float) -> dict[Any, ErrorCode]:
        assert question.verify_only is (version < ADDS)
        return dict.fromkeys(question.partitions, said)

    rig = PartitionRig()
    view: Any = SimpleNamespace(config=BrokerConfig(), image=SimpleNamespace(topic_names={}))
    partitions: Any = SimpleNamespace(find=lambda topic, index: rig.partition)
    checks: Any = SimpleNamespace(until_checked=until_checked)
    content = batch(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    data = TopicProduceData(ID.topic, partition_data=[PartitionProduceData(ID.partition, memoryview(content))])
    request: Any = SimpleNamespace(version=version, body=ProduceRequest("billing", -1, 1000, [data]))
    writes = rig.loop.run(FirstWrites(view, partitions, checks, request).until_checked())
    with pytest.raises(Refused) as refused:
        writes.verification(ID.topic, ID.partition)
    assert refused.value.code == told
