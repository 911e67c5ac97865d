"""A reader that is in the middle of a partition when its leader dies goes on with the next one."""

import asyncio

from clients.client import Record as Sent
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import LATEST, ClusterClient
from headrace.wire.batch import iter_headers
from headrace.wire.records import read_records


def test_the_leader_dies_between_two_fetches(three):
    topic = three.create("read-on", partitions=1)
    id = TopicPartition(topic, 0)
    sent = [f"v{i}".encode() for i in range(200)]
    three.client.produce(topic, [Sent(None, value) for value in sent])

    async def read(client: ClusterClient, offset: int, end: int) -> list[bytes | None]:
        values = []
        while offset < end:
            fetched = await client.fetch(id, offset, bytes_max=500)
            for start, header in iter_headers(fetched.batches):
                records = read_records(fetched.batches[start:])
                values += [record.value for record in records if offset <= record.offset < end]
                offset = header.next_offset
        return values

    async def read_all() -> list[bytes | None]:
        client = ClusterClient(three.cluster.bootstrap, client_id="test")
        try:
            async with asyncio.timeout(100):
                values = await read(client, 0, 100)
                leader = (await client.metadata([topic])).topics[topic].partitions[0].leader
                await asyncio.to_thread(three.cluster.kill, leader)
                assert (await client.offsets({id: LATEST}))[id].offset == 200
                return values + await read(client, 100, 200)
        finally:
            await client.close()

    assert asyncio.run(read_all()) == sent
