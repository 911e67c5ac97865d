"""InitProducerId without a transactional id: a number no producer of this cluster ever had."""

from typing import TYPE_CHECKING

from headrace.base.errors import Refused
from headrace.broker.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.transactions import InitProducerIdResponse

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


async def handle_init_producer_id(broker: "Broker", request: Request) -> InitProducerIdResponse:
    if request.body.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    try:
        return InitProducerIdResponse(0, 0, await broker.producer_ids.next(), 0)
    except Refused as refusal:
        return InitProducerIdResponse(error_code=refusal.code)
