"""The manifest of a backup: one JSON file, written last, so that a backup without it is none.

    {"headrace-backup": 1, "sha256": …, "backup": {"id": …, "holds": ["settings", "features", "topics", "groups", …], …}}

The digest is of the backup's canonical text, so a manifest that rotted is told from one of a newer version. `holds` names
the parts: a version that does not know one of them refuses the backup rather than restore less than was saved. Users and
rules are named where there are some, so that older versions restore the backups of clusters without.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.base.other_format import other_format
from headrace.client.cluster_client import AbortedRecords
from headrace.cluster.entities import Acl, ScramCredential

VERSION: Final = 1
HOLDS: Final = ("settings", "features", "topics", "groups")
HOLDS_IF_ANY: Final = ("users", "acls")
_MARK: Final = "headrace-backup"


class SavedFile(NamedTuple):
    """Record batches one after the other, as a partition's leader gave them."""

    name: str
    first: int
    """The offset at which the first batch begins."""
    next: int
    bytes: int
    sha256: str
    aborted: tuple[AbortedRecords, ...] = ()


class SavedPartition(NamedTuple):
    start: int
    end: int
    files: tuple[SavedFile, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


class SavedTopic(NamedTuple):
    name: str
    id: str
    replication_factor: int
    settings: Mapping[str, str]
    """The settings chosen for this topic; defaults are left out."""
    compacted: bool
    partitions: tuple[SavedPartition, ...]

    @property
    def bytes(self) -> int:
        return sum(partition.bytes for partition in self.partitions)


class SavedOffset(NamedTuple):
    topic: str
    partition: int
    offset: int
    metadata: str = ""

    @property
    def id(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class SavedGroup(NamedTuple):
    name: str
    type: str
    offsets: tuple[SavedOffset, ...]


class SavedUser(NamedTuple):
    """A user with what its passwords are proven by, by Kafka's number of the mechanism."""

    name: str
    credentials: Mapping[int, ScramCredential]


class Backup(NamedTuple):
    id: str
    created_ms: int
    cluster_id: str
    settings: Mapping[str, str]
    """The settings chosen for all brokers while they ran."""
    topics: tuple[SavedTopic, ...]
    groups: tuple[SavedGroup, ...]
    features: Mapping[str, int] = MappingProxyType({})
    """The level of each; older backups have none."""
    users: tuple[SavedUser, ...] = ()
    acls: tuple[Acl, ...] = ()

    @property
    def partitions(self) -> int:
        return sum(len(topic.partitions) for topic in self.topics)

    @property
    def files(self) -> list[SavedFile]:
        return [file for topic in self.topics for partition in topic.partitions for file in partition.files]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


def encode(backup: Backup) -> bytes:
    some = {name: told for name, told in _access(backup).items() if told}
    rest = {name: value for name, value in backup._asdict().items() if name not in HOLDS_IF_ANY}
    told = _plain({"holds": [*HOLDS, *some], **rest, **some})
    return json.dumps({_MARK: VERSION, "sha256": _digest(told), "backup": told}, indent=1).encode()


def decode(content: bytes, where: str) -> Backup:
    try:
        whole = json.loads(content)
        version, digest, told = whole[_MARK], whole["sha256"], whole["backup"]
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(where, f"it is no manifest: {error}") from error
    if _digest(told) != digest:
        raise damaged(where, "its checksum does not fit")
    if version != VERSION:
        raise other_format(where, version, VERSION)
    unknown = sorted(set(told["holds"]) - set(HOLDS) - set(HOLDS_IF_ANY))
    if unknown:
        raise UserError(
            f"{where} also holds {', '.join(unknown)}, which this version of Headrace cannot restore",
            "Run the version of Headrace that made it, or a newer one.",
        )
    return _backup(told)


def damaged(where: str, how: str) -> UserError:
    return UserError(f"{where} is damaged: {how}", "Take another backup: `headrace backup list FOLDER --verify`.")


def _access(backup: Backup) -> dict[str, Any]:
    """Users and rules as JSON has them: keys as base64, and of rules what Kafka has."""
    users = [
        {
            "name": user.name,
            "credentials": [
                {"mechanism": mechanism, "iterations": each.iterations}
                | {name: b64encode(getattr(each, name)).decode() for name in ("salt", "stored_key", "server_key")}
                for mechanism, each in sorted(user.credentials.items())
            ],
        }
        for user in backup.users
    ]
    return {"users": users, "acls": [list(acl[:-1]) for acl in backup.acls]}


def _user(told: Any) -> SavedUser:
    credentials = {
        each["mechanism"]: ScramCredential(
            b64decode(each["salt"]), b64decode(each["stored_key"]), b64decode(each["server_key"]), each["iterations"]
        )
        for each in told["credentials"]
    }
    return SavedUser(told["name"], credentials)


def _digest(told: Any) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Named tuples with their names, as far as they have some."""
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def _backup(told: Any) -> Backup:
    return Backup(
        told["id"],
        told["created_ms"],
        told["cluster_id"],
        told["settings"],
        tuple(map(_topic, told["topics"])),
        tuple(
            SavedGroup(each["name"], each["type"], tuple(SavedOffset(**offset) for offset in each["offsets"]))
            for each in told["groups"]
        ),
        told.get("features", {}),
        tuple(map(_user, told.get("users", ()))),
        tuple(Acl(*each) for each in told.get("acls", ())),
    )


def _topic(told: Any) -> SavedTopic:
    partitions = tuple(
        SavedPartition(each["start"], each["end"], tuple(map(_file, each["files"]))) for each in told["partitions"]
    )
    return SavedTopic(
        told["name"], told["id"], told["replication_factor"], told["settings"], told["compacted"], partitions
    )


def _file(told: Any) -> SavedFile:
    return SavedFile(**{**told, "aborted": tuple(AbortedRecords(**each) for each in told["aborted"])})
