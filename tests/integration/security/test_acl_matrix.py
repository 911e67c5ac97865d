"""Every API in every version against every right that it needs: without one of them it is refused, as Kafka refuses it."""

from collections.abc import Iterator

import pytest
from acl_rig import ADMIN, Client, as_principals, guarded_broker, rule

from acl_rows import ROWS, THE_GROUP, TOPIC, Need, Row, Topic, denials_in
from eventually import until
from headrace.broker.handlers import HANDLERS
from headrace.testing import Broker
from headrace.wire.codec import encode
from headrace.wire.messages.acls import AclCreation
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest

# The same length, so that replies about them can be compared byte by byte.
SECRET, NOWHERE = "secret", "nosuch"
NO_ID = bytes(range(16))
# Everybody may ask these; what two of them list, and which operations are allowed, is looked at elsewhere.
ASKED_ELSEWHERE = {
    "ApiVersions",
    "DescribeCluster",
    "ListGroups",
    "ListTransactions",
    "SaslHandshake",
    "SaslAuthenticate",
    # Whether a token may be asked about depends on whose it is: tests/unit/broker/test_token_handlers.py.
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "DescribeDelegationToken",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with guarded_broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def secret(broker: Broker) -> Topic:
    found: list[Topic] = []

    async def make(admin: Client) -> None:
        made = await admin.ask(CreateTopicsRequest([CreatableTopic(SECRET, 1, 1)], 10_000))
        found.append(Topic(SECRET, made.topics[0].topic_id))
        await admin.ask(FindCoordinatorRequest(THE_GROUP, 0, [THE_GROUP]))

    as_principals(broker, [ADMIN], make)
    until(lambda: commit_code(broker) == 0)
    return found[0]


def commit_code(broker: Broker) -> int:
    """Of a commit by the group, which is there from then on."""
    codes: list[int] = []
    wanted = OffsetCommitRequestTopic(SECRET, partitions=[OffsetCommitRequestPartition(0, 1)])

    async def commit(admin: Client) -> None:
        answered = await admin.ask(OffsetCommitRequest(THE_GROUP, topics=[wanted]), 9)
        codes.append(answered.topics[0].partitions[0].error_code)

    as_principals(broker, [ADMIN], commit)
    return codes[0]


def rules(principal: str, needs: list[Need]) -> list[AclCreation]:
    return [
        rule(principal, need.kind, need.operation, need.name(Topic(name, b"")))
        for need in needs
        for name in ([SECRET, NOWHERE] if need.kind == TOPIC else [""])
    ]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_without_a_right_it_is_refused_and_with_all_of_them_it_is_not(broker: Broker, secret: Topic, row: Row) -> None:
    nowhere = Topic(NOWHERE, NO_ID)
    lacking = [f"User:{row.name}-without-{place}" for place in range(len(row.needs))]
    enough = [f"User:{row.name}", *(f"User:{row.name}-instead-{place}" for place in range(len(row.instead)))]

    async def work(admin: Client, *clients: Client) -> None:
        for place, principal in enumerate(lacking):
            have = [need for other, need in enumerate(row.needs) if other != place]
            await admin.granted(*rules(principal, have)) if have else None
        await admin.granted(*rules(enough[0], row.needs))
        for principal, need in zip(enough[1:], row.instead, strict=True):
            await admin.granted(*rules(principal, [need]))
        for version in row.versions:
            for need, client in zip(row.needs, clients, strict=False):
                refused = await client.ask(row.make(version, secret), version)
                # What is missing decides, and whether the topic exists is not told.
                assert denials_in(refused) == {need.code}, (version, need, refused)
                if version not in row.by_id:
                    alike = await client.ask(row.make(version, nowhere), version)
                    assert bytes_of(refused, version).replace(SECRET.encode(), NOWHERE.encode()) == bytes_of(
                        alike, version
                    ), (version, need, refused, alike)
            for client in clients[len(lacking) :]:
                allowed = await client.ask(row.make(version, secret if row.is_harmless else nowhere), version)
                assert denials_in(allowed) == set(), (version, allowed)

    as_principals(broker, [ADMIN, *lacking, *enough], work)


def bytes_of(response: object, version: int) -> bytes:
    return b"".join(map(bytes, encode(response, version)))


def test_every_api_has_a_row() -> None:
    asked = {row.name.partition("-")[0] for row in ROWS}
    served = {handler.request.__name__.removesuffix("Request") for handler in HANDLERS}
    assert served - asked - ASKED_ELSEWHERE == set()
    versions = {(row.name.partition("-")[0], version) for row in ROWS for version in row.versions}
    missing = {
        (name, version)
        for handler in HANDLERS
        if (name := handler.request.__name__.removesuffix("Request")) in asked
        for version in handler.request.VERSIONS
        if (name, version) not in versions
    }
    # Old versions of it have no place for a code: they show nothing, which is looked at elsewhere.
    assert missing == {("DescribeLogDirs", 1), ("DescribeLogDirs", 2)}
