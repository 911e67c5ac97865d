"""Clients that wait for a broker that hangs are made to look for new leaders: their connections to this broker end, once.

    a broker lost its lease ─▶ does its port answer? ─▶ yes, or it resets: its clients know
                                   └─ nothing comes back: connections of librdkafka here are closed when all is answered

A broker that is frozen, or whose machine is gone, resets nothing, so who has a request there waits for its own time-out:
a minute with librdkafka. No other broker can reach that connection. But librdkafka asks for metadata when it loses any
other one, and what it waits for at a broker that metadata leaves out it sends to the new leader. To whoever was connected
to the hung broker alone this is no help. Brokers do it one after the other, or a client would lose all that could answer
it at once, and ask the hung one.

Other clients are left alone: the Java client waits for its time-out all the same, and what it had on its way here would
wait with it.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from typing import Final

from headrace.broker.membership.view import View
from headrace.broker.net.dialler import Dialler
from headrace.broker.net.listeners import Listeners
from headrace.broker.partitions import Partitions
from headrace.broker.tasks import Tasks
from headrace.client.connection import Disconnected
from headrace.cluster.entities import Broker as Registration
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

logger = logging.getLogger("headrace.peers")

# Bindings name themselves, and the library in their version.
GAINS: Final = "librdkafka"
ANSWER_SECONDS: Final = 0.5
API_VERSIONS: Final = 0
APART_SECONDS: Final = 0.5
# All clients at once would all come back at once.
PER_TURN: Final = 100
TURN_SECONDS: Final = 0.05


class HungPeers:
    def __init__(
        self, view: View, tasks: Tasks, partitions: Partitions, listeners: Listeners, dialler: Dialler
    ) -> None:
        self._view = view
        self._tasks = tasks
        self._partitions = partitions
        self._listeners = listeners
        self._dialler = dialler

    def on_live(self, before: Mapping[int, int], after: Mapping[int, int]) -> None:
        """Looks at each broker that lost its lease and did not say that it leaves."""
        if not self._view.config.flag("connections.close.on.hung.broker"):
            return
        for broker_id in before.keys() - after.keys() - {self._view.id}:
            peer = self._view.image.brokers.get(broker_id)
            if peer is not None and not peer.leaving:
                self._tasks.start(f"look at broker {broker_id}", self._look(peer))

    async def _look(self, peer: Registration) -> None:
        if await self._leaves_nobody_waiting(peer):
            return
        await asyncio.sleep(APART_SECONDS * sum(each < self._view.id for each in self._view.live))
        if self._partitions.is_fenced:
            return
        connections = [each for each in self._listeners.connections if GAINS in each.client_software]
        logger.warning(
            "broker %(other_broker)d hangs: %(connections)d clients are made to look for new leaders",
            {"other_broker": peer.id, "connections": len(connections)},
        )
        for first in range(0, len(connections), PER_TURN):
            for connection in connections[first : first + PER_TURN]:
                connection.close_when_answered()
            await asyncio.sleep(TURN_SECONDS)

    async def _leaves_nobody_waiting(self, peer: Registration) -> bool:
        """Whether clients of the peer learn that it leads no more: it answers and says so, or its connections are reset."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                connection = await self._dialler.connect(peer, "look", 2 * ANSWER_SECONDS)
                try:
                    await connection.ask(ApiVersionsRequest(), ApiVersionsResponse, API_VERSIONS, 2 * ANSWER_SECONDS)
                finally:
                    connection.close()
        except TimeoutError:
            return False
        except Disconnected as error:
            # A certificate that we do not like is an answer, too.
            return error.__cause__ is None or isinstance(error.__cause__, (ConnectionError, ssl.SSLError))
        return True
