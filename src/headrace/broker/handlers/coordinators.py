"""FindCoordinator: which broker keeps a group or a transaction. None does yet.

It is here before the coordinators are because librdkafka takes its presence as the sign that a broker reads lz4:
without it, batches that should be lz4 come uncompressed, silently.
"""

from typing import TYPE_CHECKING

from headrace.broker.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import Coordinator, FindCoordinatorResponse

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

MANY_KEYS_SINCE = 4
# Not a fatal one: a consumer that only assigns partitions asks too, and must go on without an answer.
_CODE = ErrorCode.COORDINATOR_NOT_AVAILABLE
_TEXT = "consumer groups and transactions are not served by this version; assign partitions instead"


def handle_find_coordinator(broker: "Broker", request: Request) -> FindCoordinatorResponse:
    if request.version < MANY_KEYS_SINCE:
        return FindCoordinatorResponse(0, _CODE, _TEXT, -1, "", -1)
    return FindCoordinatorResponse(
        coordinators=[Coordinator(key, -1, "", -1, _CODE, _TEXT) for key in request.body.coordinator_keys]
    )
