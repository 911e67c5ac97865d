"""A group's first request on a fresh cluster is served, not refused: librdkafka, once refused, waits three seconds."""

import asyncio

from headrace.admin.admin import Address, Admin
from headrace.admin.coordinators import coordinator_of
from headrace.testing import Broker
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_classic import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse

CLIENTS = 60
# They come while the first one's question makes `__consumer_offsets`, at every stage of it.
APART_SECONDS = 0.002


async def first_join(address: Address, number: int) -> int:
    admin, group = Admin([address], "test"), f"group-{number}"
    try:
        await admin.metadata()
        await asyncio.sleep(number * APART_SECONDS)
        coordinator = await coordinator_of(admin, group)
        protocols = [JoinGroupRequestProtocol("range", b"")]
        request = JoinGroupRequest(group, 10_000, 10_000, protocol_type="consumer", protocols=protocols)
        return (await admin.ask_broker(coordinator, request, JoinGroupResponse)).error_code
    finally:
        admin.close()


async def first_joins(address: Address) -> list[int]:
    return await asyncio.gather(*(first_join(address, number) for number in range(CLIENTS)))


def test_whoever_was_sent_to_a_coordinator_is_served_by_it() -> None:
    with Broker() as broker:
        answers = asyncio.run(first_joins(("127.0.0.1", broker.port)))
    assert answers == [ErrorCode.MEMBER_ID_REQUIRED] * CLIENTS
