"""DescribeCluster and UnregisterBroker: the brokers, and one that will not come back."""

from collections.abc import Collection

from headrace.base.errors import Refused
from headrace.broker.handlers.addresses import addresses, controller_for
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.security.rights import Rights
from headrace.cluster.image import Image
from headrace.cluster.registration import unregister_broker
from headrace.cluster.rewrite import each_partition
from headrace.cluster.store import Commit
from headrace.security.operations import THE_CLUSTER, Operation, ResourceType
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import DescribeClusterBroker, DescribeClusterResponse, UnregisterBrokerResponse

BROKERS = 1
# What a field of authorized operations says to those who did not ask.
NOT_ASKED_FOR = -(1 << 31)


def handle_describe_cluster(view: View, request: Request) -> DescribeClusterResponse:
    image = view.image
    if request.body.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="there are no controller endpoints here; ask for brokers",
            cluster_id=image.cluster_id,
        )
    return DescribeClusterResponse(
        0,
        cluster_id=image.cluster_id,
        controller_id=controller_for(view, request.listener),
        brokers=[
            DescribeClusterBroker(*each, each.id not in view.live)
            for each in addresses(image.brokers.values(), request.listener)
            if each.id in view.live or request.body.include_fenced_brokers
        ],
        cluster_authorized_operations=(
            operations_of_cluster(request.rights)
            if request.body.include_cluster_authorized_operations
            else NOT_ASKED_FOR
        ),
    )


def operations_of_cluster(rights: Rights) -> int:
    """None of them, who may not describe the cluster."""
    return rights.operations(ResourceType.CLUSTER, THE_CLUSTER) if rights.cluster(Operation.DESCRIBE) else 0


async def handle_unregister_broker(view: View, request: Request) -> UnregisterBrokerResponse:
    gone = request.body.broker_id

    def plan(image: Image) -> list[Commit]:
        _check_is_gone(image, view.live, gone)
        return [unregister_broker(image, gone)]

    try:
        await view.metadata.change(plan)
    except Refused as refusal:
        return UnregisterBrokerResponse(0, refusal.code, refusal.message)
    return UnregisterBrokerResponse()


def _check_is_gone(image: Image, live: Collection[int], broker_id: int) -> None:
    """Forgotten with replicas left, it would be missed by them for ever and known to nobody."""
    if broker_id in live:
        raise Refused(ErrorCode.INVALID_REQUEST, f"broker {broker_id} is alive; stop it first")
    left = sum(broker_id in state.replicas for _, _, state in each_partition(image))
    if left:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"broker {broker_id} still has replicas of {left} partitions; drain it first (headrace cluster drain)",
        )
