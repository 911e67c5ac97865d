"""What the screen of Produce looks at: the batches, whatever their request says of itself (CVE-2018-17196)."""

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.broker.security.rights import Rights
from headrace.broker.security.screens.records import screen_produce
from headrace.cluster.image import Image
from headrace.security.operations import Operation, ResourceType
from headrace.wire.batch import TRANSACTIONAL
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

PLAIN, OF_TRANSACTION = (bytes(22) + bytes([attributes]) + bytes(40) for attributes in (0, TRANSACTIONAL))


class Writer(Rights):
    """The right to write any topic, and to one transactional id."""

    __slots__ = ()

    is_unlimited = False

    def may(self, operation: Operation, kind: ResourceType, name: str) -> bool:
        return kind == ResourceType.TOPIC or (kind == ResourceType.TRANSACTIONAL_ID and name == "mine")


@pytest.mark.parametrize(
    ("transactional_id", "records", "may"),
    [
        (None, PLAIN, True),
        ("others", PLAIN, True),
        ("mine", OF_TRANSACTION, True),
        ("others", OF_TRANSACTION, False),
        (None, OF_TRANSACTION, False),
    ],
)
def test_a_batch_of_a_transaction_needs_the_right_to_its_id(
    transactional_id: str | None, records: bytes, may: bool
) -> None:
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(0, records)])
    body = ProduceRequest(transactional_id=transactional_id, acks=-1, topic_data=[topic])
    request: Any = SimpleNamespace(body=body, rights=Writer())
    answer = screen_produce(Image(), request, lambda: "let through")
    assert (answer == "let through") == may
    if not may:
        (part,) = answer.responses[0].partition_responses
        assert part.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
