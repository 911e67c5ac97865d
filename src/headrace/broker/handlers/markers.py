"""WriteTxnMarkers: a coordinator tells the leaders of partitions how a transaction ended."""

from typing import TYPE_CHECKING

from headrace.broker.coordinators.marker_appends import MarkerAppends
from headrace.broker.net.dispatch import Request
from headrace.broker.net.listener import Pending

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


def handle_write_txn_markers(broker: "Broker", request: Request) -> Pending:
    """Appended at once, in the order of the connection; what comes later need not wait until it is committed."""
    pending = request.defer()
    appends = MarkerAppends(broker, request.body, request.now)

    async def answer() -> None:
        pending.complete(await appends.until_done())

    broker.tasks.start("markers", answer())
    return pending
