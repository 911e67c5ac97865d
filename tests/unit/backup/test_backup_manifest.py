"""The manifest of a backup: read as it was written, or refused for what it is."""

import json

import pytest

from headrace.backup.manifest import (
    Backup,
    SavedFile,
    SavedGroup,
    SavedOffset,
    SavedPartition,
    SavedTopic,
    SavedUser,
    _digest,
    decode,
    encode,
)
from headrace.base.errors import UserError
from headrace.client.cluster_client import AbortedRecords
from headrace.cluster.entities import Acl, ScramCredential

FILE = SavedFile("data/id/0/00-07.batches", 0, 7, 123, "f00d", (AbortedRecords(1, 2), AbortedRecords(3, 4)))
BACKUP = Backup(
    "20261118T211214Z-147934",
    1_790_000_000_000,
    "cluster",
    {"log.retention.ms": "-1"},
    (
        SavedTopic(
            "orders", "id", 3, {"retention.ms": "7"}, False, (SavedPartition(0, 7, (FILE,)), SavedPartition(5, 5))
        ),
    ),
    (SavedGroup("billing", "consumer", (SavedOffset("orders", 0, 6, "by hand \u00e9"),)),),
    {"transaction.version": 1},
)


def test_it_is_read_as_it_was_written() -> None:
    assert decode(encode(BACKUP), "x") == BACKUP
    assert (BACKUP.partitions, BACKUP.bytes, BACKUP.files) == (2, 123, [FILE])


def test_one_from_before_feature_levels_were_saved_has_none() -> None:
    whole = json.loads(encode(BACKUP))
    told = {**whole["backup"], "holds": ["settings", "topics", "groups"]}
    del told["features"]
    older = json.dumps({**whole, "sha256": _digest(told), "backup": told}).encode()
    assert decode(older, "x") == BACKUP._replace(features={})


USER = SavedUser("al", {1: ScramCredential(b"salt", b"stored \xff", b"server", 4_096)})
ACL = Acl(2, "orders", 4, "User:al", "*", 3, 3)


def test_users_and_rules_are_read_as_they_were_written_and_named_where_there_are_some() -> None:
    for more, holds in (((USER,), (ACL,)), ["users", "acls"]), (((), (ACL,)), ["acls"]), (((), ()), []):
        backup = BACKUP._replace(users=more[0], acls=more[1])
        assert decode(encode(backup), "x") == backup
        told = json.loads(encode(backup))["backup"]
        assert told["holds"] == ["settings", "features", "topics", "groups", *holds]
        assert {"users", "acls"} & told.keys() == set(holds), "an older version restores it"
    assert "stored" not in repr(USER)


def test_any_other_value_is_damage() -> None:
    whole = encode(BACKUP)
    for at in range(0, len(whole), 3):
        flipped = bytearray(whole)
        flipped[at] ^= 4
        try:
            assert decode(bytes(flipped), "x") == BACKUP
        except UserError as error:
            assert "x is damaged" in error.cause or "x was written by another version" in error.cause


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff", encode(BACKUP)[:-20]])
def test_what_is_no_manifest_is_damage(content: bytes) -> None:
    with pytest.raises(UserError, match="x is damaged"):
        decode(content, "x")


def test_a_newer_version_and_parts_that_are_not_known_are_refused() -> None:
    whole = json.loads(encode(BACKUP))
    with pytest.raises(UserError, match="x was written by another version of Headrace: it has format 2"):
        decode(json.dumps({**whole, "headrace-backup": 2}).encode(), "x")
    told = {**whole["backup"], "holds": ["topics", "quotas"], "quotas": []}
    with pytest.raises(UserError, match="also holds quotas, which this version"):
        decode(json.dumps({**whole, "sha256": _digest(told), "backup": told}).encode(), "x")
