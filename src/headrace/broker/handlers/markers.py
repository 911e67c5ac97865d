"""WriteTxnMarkers: a coordinator tells the leaders of partitions how a transaction ended."""

from headrace.broker.coordinators.markers import Markers
from headrace.broker.net.dispatch import Request
from headrace.broker.net.requests_in_order import Pending
from headrace.broker.tasks import Tasks


def handle_write_txn_markers(markers: Markers, tasks: Tasks, request: Request) -> Pending:
    """Appended at once, in the order of the connection; what comes later need not wait until it is committed."""
    pending = request.defer()
    appends = markers.append(request.body, request.now)

    async def answer() -> None:
        pending.complete(await appends.until_done())

    tasks.start("markers", answer())
    return pending
