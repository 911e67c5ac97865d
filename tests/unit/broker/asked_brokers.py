"""Brokers in the simulator's world, asked one request at a time."""

from typing import Any

from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.schema import Request
from sim.cluster import Cluster
from sim.host import PORT
from sim.wireclient import WireClient


class AskedBrokers:
    def __init__(self, brokers: int = 1) -> None:
        self.cluster = Cluster(brokers, seed="asked")
        self.cluster.start()
        # Each has heard of every other.
        self.cluster.run(1.0)
        self._loop = self.cluster.world.client_loop("client")

    def ask(self, request: Request, version: int, broker: int = 1) -> Any:
        """What this broker answers."""
        address = self.cluster.world.hosts[broker - 1].address

        async def ask() -> Any:
            link = await WireClient.open(self._loop, (address, PORT))
            answer = await link.ask(request, version, 10.0)
            link.close()
            return answer

        task = self.cluster.world.spawn(self._loop, ask())
        self.cluster.until(task.done)
        return task.result()

    def create(self, topic: str, partitions: int, factor: int = 1) -> None:
        request = CreateTopicsRequest([CreatableTopic(topic, partitions, factor)], timeout_ms=10_000)
        assert self.ask(request, 7).topics[0].error_code == 0

    def end(self) -> None:
        self.cluster.world.end()
