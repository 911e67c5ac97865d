"""A principal without any right asks everything there is to ask, of brokers that die and come back: nothing that it asks
changes or shows anything.

Rules go by where a client comes from, as no client of the simulator logs in: everybody may do everything but from there.
"""

from random import Random
from typing import Any

import pytest

from acl_rows import CLUSTER, GROUP, ROWS, TOPIC, TXN, Row, Topic, denials_in
from headrace.security.operations import THE_CLUSTER, Operation, PatternType, Permission
from headrace.wire.apis import APIS
from headrace.wire.codec import encode
from headrace.wire.messages.acls import AclCreation, CreateAclsRequest
from headrace.wire.messages.groups_admin import ListGroupsRequest
from headrace.wire.messages.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from headrace.wire.messages.producers import ListTransactionsRequest
from headrace.wire.schema import Request
from sim.clients import Directory, Producer
from sim.cluster import TOPIC as ORDERS
from sim.cluster import Cluster
from sim.host import PORT
from sim.wireclient import Lost, WireClient

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Until there are rules; from then on one covers every resource.
    "allow.everyone.if.no.acl.found": "true",
}
FRIENDS = ("10.0.0.0/24", "10.0.1.0/24")
OUTSIDE = "10.0.2.1"
LISTS: list[Request] = [
    MetadataRequest(None),
    DescribeTopicPartitionsRequest(),
    ListGroupsRequest(),
    ListTransactionsRequest(),
]


def all_but_the_intruder() -> CreateAclsRequest:
    everything = ((TOPIC, "*"), (GROUP, "*"), (TXN, "*"), (CLUSTER, THE_CLUSTER))
    return CreateAclsRequest(
        [
            AclCreation(kind, name, PatternType.LITERAL, "User:*", host, Operation.ALL, Permission.ALLOW)
            for kind, name in everything
            for host in FRIENDS
        ]
    )


class Intruder:
    def __init__(self, cluster: Cluster, rng: Random) -> None:
        self.answers = 0
        self.is_done = False
        self._cluster = cluster
        self._rng = rng
        self._loop = cluster.world.client_loop("intruder")
        self._loop.address = OUTSIDE
        image = cluster.world.hosts[0].node.broker.image
        self._topics = [Topic(ORDERS, image.topics[ORDERS].id), Topic("nosuch", bytes(range(16)))]
        cluster.world.spawn(self._loop, self._intrude())

    async def _intrude(self) -> None:
        while not self.is_done:
            try:
                link = await WireClient.open(self._loop, (self._rng.choice(self._cluster.world.hosts).address, PORT))
                for _ in range(self._rng.randrange(1, 20)):
                    await self._ask(link)
                link.close()
            except Lost:
                continue

    async def _ask(self, link: WireClient) -> None:
        if self._rng.random() < 0.1:
            request = self._rng.choice(LISTS)
            answer = await link.ask(request, APIS[request.API_KEY].max_version)
            assert ORDERS.encode() not in b"".join(map(bytes, encode(answer, APIS[request.API_KEY].max_version))), (
                answer
            )
        else:
            await self._ask_for(link, self._rng.choice(ROWS), self._rng.choice(self._topics))
        self.answers += 1

    async def _ask_for(self, link: WireClient, row: Row, topic: Topic) -> None:
        version = self._rng.choice(row.versions)
        if version in row.by_id:
            # Whether an id is one is no secret.
            topic = self._topics[0]
        answer: Any = await link.ask(row.make(version, topic), version)
        assert denials_in(answer), (row.name, version, answer)


def seen(cluster: Cluster) -> object:
    """The metadata that only somebody with rights changes."""
    image = next(host for host in cluster.world.hosts if host.is_serving).node.broker.image
    topics = {name: (topic.id, topic.config, len(topic.partitions)) for name, topic in image.topics.items()}
    return topics, image.acls, image.broker_overrides, image.features, image.brokers.keys()


@pytest.mark.parametrize("seed", ["first", "second", "third"])
def test_nothing_that_an_intruder_asks_changes_or_shows_anything(seed: str) -> None:
    cluster = Cluster(3, seed, SETTINGS)
    cluster.start()
    cluster.create_topic()
    admin = Directory(cluster.world, cluster.world.client_loop("ruler"), Random(1))

    async def make_rules() -> None:
        made = await (await admin.any()).ask(all_but_the_intruder(), 3)
        assert {result.error_code for result in made.results} == {0}

    cluster.until(cluster.world.spawn(admin.loop, make_rules()).done)
    cluster.until(lambda: all(len(host.node.broker.image.acls) == 8 for host in cluster.world.hosts))
    before = seen(cluster)
    producer = Producer(cluster.world, cluster.checks, len(cluster.world.loops), ORDERS, 1, pace=0.05)
    intruder = Intruder(cluster, Random(seed))
    for host in cluster.world.hosts:
        cluster.run(2.0)
        cluster.world.kill(host)
        cluster.run(3.0)
        cluster.world.start(host)
    cluster.until(lambda: len(cluster.state.isr) == 3)
    acks = cluster.checks.acks
    cluster.until(lambda: cluster.checks.acks > acks)
    producer.stopping = intruder.is_done = True
    cluster.until(lambda: producer.is_done)
    assert intruder.answers > 500
    assert seen(cluster) == before
