"""The keys and values in the store: values are JSON that begins with a format version.

    cluster                          the cluster's id
    controller                       the broker that controls, as of its take-over
    brokers/{id}                     registrations
    topics/{name}                    id, partition count, config: the topic exists when this key does
    partitions/{topic id}/{index}    replicas, ISR, leader, epochs
    config/brokers/{id or default}   dynamic settings
    producer_ids                     where the next block begins
    features                         finalized levels
    users/{quoted name}              what the user's password is proven by, in each SCRAM mechanism
    secrets/{name}                   random bytes that all brokers share
    acls/{digest}                    rules: who may do what; the digest is that of the rule
    tokens/{id}                      delegation tokens: whose, and until when

A field that older code can do without may be added under the same version; anything else is a new version, and a newer
one than ours is refused rather than guessed at.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from headrace.base.errors import UserError
from headrace.base.ids import format_id, parse_id
from headrace.base.other_format import other_format
from headrace.cluster.entities import (
    Acl,
    Broker,
    BrokerEndpoint,
    BrokerOverrides,
    Cluster,
    ControllerClaim,
    Features,
    PartitionState,
    ProducerIds,
    ScramCredential,
    Secret,
    Token,
    User,
)

FORMAT_VERSION: Final = 1

CLUSTER: Final = "cluster"
CONTROLLER: Final = "controller"
PRODUCER_IDS: Final = "producer_ids"
FEATURES: Final = "features"
EVERY_BROKER: Final = "default"


class TopicRecord(NamedTuple):
    id: bytes
    partition_count: int
    config: Mapping[str, str]
    revision: int = 0


Record = (
    Cluster
    | ControllerClaim
    | Broker
    | TopicRecord
    | PartitionState
    | BrokerOverrides
    | ProducerIds
    | Features
    | User
    | Secret
    | Acl
    | Token
)


def broker_key(broker_id: int) -> str:
    return f"brokers/{broker_id}"


def topic_key(name: str) -> str:
    return f"topics/{name}"


def partition_key(topic_id: bytes, index: int) -> str:
    return f"{_partitions_of(topic_id)}{index}"


@lru_cache(maxsize=1024)
def _partitions_of(topic_id: bytes) -> str:
    return f"partitions/{format_id(topic_id)}/"


def broker_config_key(broker_id: int | None) -> str:
    return f"config/brokers/{EVERY_BROKER if broker_id is None else broker_id}"


def user_key(name: str) -> str:
    return f"users/{quote(name, safe='')}"


def secret_key(name: str) -> str:
    return f"secrets/{name}"


def token_key(token_id: str) -> str:
    return f"tokens/{token_id}"


def parse_user_key(key: str) -> str:
    return unquote(key.removeprefix("users/"), errors="strict")


def acl_key(acl: Acl) -> str:
    """The key of a rule is made of all its fields, so that the same rule is never there twice."""
    text = json.dumps(acl[:-1], separators=(",", ":"))
    return f"acls/{blake2b(text.encode(), digest_size=16).hexdigest()}"


def parse_partition_key(key: str) -> tuple[bytes, int]:
    try:
        _, topic_id, index = key.split("/")
        return parse_id(topic_id), int(index)
    except ValueError as error:
        raise _damaged(f"there is a key {key!r}") from error


def parse_broker_key(key: str) -> int:
    try:
        return int(key.removeprefix("brokers/"))
    except ValueError as error:
        raise _damaged(f"there is a key {key!r}") from error


def encode(record: Record) -> bytes:
    if isinstance(record, PartitionState):
        value = _encode_partition(record)
        # Read once: the image that the watch brings finds the answer remembered.
        assert _read_alike(value) == record[:-1], (value, record)
        return value
    fields = _fields(record)
    assert _READERS[_KIND_OF[type(record)]](fields, record.revision) == record, record
    return json.dumps({"v": FORMAT_VERSION, **fields}, separators=(",", ":")).encode()


def _fields(record: Record) -> dict[str, Any]:
    match record:
        case TopicRecord():
            return {
                "id": format_id(record.id),
                "partitions": record.partition_count,
                "config": dict(sorted(record.config.items())),
            }
        case Broker():
            return _sparse(record, always=4)
        case User():
            return {"scram": {mechanism: _credential_fields(each) for mechanism, each in record.credentials.items()}}
        case Secret():
            return {"value": b64encode(record.value).decode()}
    return _sparse(record, always=len(record) - 1)


def _credential_fields(credential: ScramCredential) -> dict[str, Any]:
    named = credential._asdict()
    return {name: b64encode(value).decode() if isinstance(value, bytes) else value for name, value in named.items()}


def _sparse(record: Record, always: int) -> dict[str, Any]:
    """The fields without trailing empty ones: most partitions are neither moving nor in trouble."""
    named = list(record._asdict().items())[:-1]
    return {
        name: value for place, (name, value) in enumerate(named) if place < always or value not in (None, "", (), False)
    }


def _encode_partition(state: PartitionState) -> bytes:
    """A partition as JSON, written by hand: losing a broker rewrites tens of thousands at once, and `json` takes ten
    times as long."""
    replicas, isr, leader, leader_epoch, partition_epoch, elr, adding, removing, damaged, _ = state
    rare = ""
    if elr or adding or removing or damaged:
        named = {"elr": elr, "adding": adding, "removing": removing, "damaged": damaged}
        rare = "".join(f',"{name}":{_numbers(value)}' for name, value in named.items() if value)
    return (
        f'{{"v":{FORMAT_VERSION},"replicas":{_numbers(replicas)},"isr":{_numbers(isr)},"leader":{leader},'
        f'"leader_epoch":{leader_epoch},"partition_epoch":{partition_epoch}{rare}}}'
    ).encode()


@lru_cache(maxsize=4096)
def _numbers(values: tuple[int, ...]) -> str:
    return json.dumps(values, separators=(",", ":"))


def decode(key: str, value: bytes, revision: int) -> Record | None:
    """The record of a key and value; None for a kind of key we do not know, which newer code may write beside ours."""
    kind = _kind(key)
    read = _READERS.get(kind)
    if read is None:
        return None
    try:
        if kind == "partitions":
            # Most of a hundred thousand are alike but for their revision: read once, and one tuple of replicas for all.
            return PartitionState._make((*_read_alike(value), revision))
        fields = json.loads(value)
        version = fields["v"]
        if version == FORMAT_VERSION:
            return read(fields, revision)
    except _OtherVersion as other:
        version = other.version
    except (ValueError, KeyError, TypeError) as error:
        shown = "***" if kind in _UNSEEN else repr(value[:80])
        raise _damaged(f"{key} holds {shown}") from (None if kind in _UNSEEN else error)
    raise other_format(f"{key} in the metadata store", version, FORMAT_VERSION)


class _OtherVersion(Exception):
    def __init__(self, version: object) -> None:
        super().__init__(version)
        self.version = version


def _kind(key: str) -> str:
    kind, _, rest = key.partition("/")
    return f"config/{rest.partition('/')[0]}" if kind == "config" else kind


def _damaged(what: str) -> UserError:
    fix = (
        "Put a copy of the store back (docs/etcd.md, Restoring), or begin a new cluster with `headrace backup restore`; "
        "brokers leave their data untouched meanwhile."
    )
    return UserError(f"the metadata store is damaged: {what}", fix)


@lru_cache(maxsize=4096)
def _read_alike(value: bytes) -> tuple[Any, ...]:
    """A partition's state without its revision."""
    fields = json.loads(value)
    if fields["v"] != FORMAT_VERSION:
        raise _OtherVersion(fields["v"])
    return _read_partition(fields, 0)[:-1]


def _read_partition(fields: dict[str, Any], revision: int) -> PartitionState:
    replicas, isr = tuple(fields["replicas"]), tuple(fields["isr"])
    return PartitionState(
        replicas,
        # 100,000 partitions are mostly in sync: one tuple for both halves their memory.
        replicas if isr == replicas else isr,
        fields["leader"],
        fields["leader_epoch"],
        fields["partition_epoch"],
        tuple(fields.get("elr", ())),
        tuple(fields.get("adding", ())),
        tuple(fields.get("removing", ())),
        tuple(fields.get("damaged", ())),
        revision,
    )


def _read_topic(fields: dict[str, Any], revision: int) -> TopicRecord:
    return TopicRecord(parse_id(fields["id"]), fields["partitions"], fields["config"], revision)


def _read_broker(fields: dict[str, Any], revision: int) -> Broker:
    known = {name: value for name, value in fields.items() if name in Broker._fields}
    endpoints = tuple(BrokerEndpoint(*each) for each in fields.get("endpoints", ()))
    return Broker(**{**known, "endpoints": endpoints, "revision": revision})


def _read_user(fields: dict[str, Any], revision: int) -> User:
    return User({mechanism: _read_credential(each) for mechanism, each in fields["scram"].items()}, revision)


def _read_token(fields: dict[str, Any], revision: int) -> Token:
    known = {name: fields[name] for name in Token._fields[:-2]}
    lists = {"renewers": tuple(fields["renewers"]), "revoked": tuple(fields.get("revoked", ()))}
    return Token(**{**known, **lists, "revision": revision})


def _read_credential(fields: dict[str, Any]) -> ScramCredential:
    salt, stored_key, server_key = (b64decode(fields[name]) for name in ScramCredential._fields[:3])
    return ScramCredential(salt, stored_key, server_key, fields["iterations"])


_READERS: Final[Mapping[str, Callable[[dict[str, Any], int], Record]]] = {
    "cluster": lambda fields, revision: Cluster(fields["id"], revision),
    "controller": lambda fields, revision: ControllerClaim(fields["broker_id"], fields["epoch"], revision),
    "brokers": _read_broker,
    "topics": _read_topic,
    "partitions": _read_partition,
    "config/brokers": lambda fields, revision: BrokerOverrides(fields["config"], revision),
    "producer_ids": lambda fields, revision: ProducerIds(fields["next_id"], revision),
    "features": lambda fields, revision: Features(fields["levels"], revision),
    "users": _read_user,
    "secrets": lambda fields, revision: Secret(b64decode(fields["value"]), revision),
    "acls": lambda fields, revision: Acl._make((*map(fields.__getitem__, Acl._fields[:-1]), revision)),
    "tokens": _read_token,
}
_UNSEEN: Final = ("users", "secrets")
"""The kinds whose values no message shows."""
_KIND_OF: Final[Mapping[type[Record], str]] = {
    Cluster: "cluster",
    ControllerClaim: "controller",
    Broker: "brokers",
    TopicRecord: "topics",
    BrokerOverrides: "config/brokers",
    ProducerIds: "producer_ids",
    Features: "features",
    User: "users",
    Secret: "secrets",
    Acl: "acls",
    Token: "tokens",
}
