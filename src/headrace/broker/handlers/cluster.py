"""DescribeCluster: the brokers by the admin client's question."""

from typing import TYPE_CHECKING

from headrace.broker.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import DescribeClusterBroker, DescribeClusterResponse

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

BROKERS = 1


def handle_describe_cluster(broker: "Broker", request: Request) -> DescribeClusterResponse:
    image = broker.image
    if request.body.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="there are no controller endpoints here; ask for brokers",
            cluster_id=image.cluster_id,
        )
    return DescribeClusterResponse(
        0,
        cluster_id=image.cluster_id,
        controller_id=broker.controller_id,
        brokers=[
            DescribeClusterBroker(each.id, each.host, each.port, each.rack, each.id not in broker.live)
            for each in image.brokers.values()
            if each.id in broker.live or request.body.include_fenced_brokers
        ],
    )
