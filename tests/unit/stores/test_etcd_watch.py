"""Messages of a watch become whole commits."""

import base64
from typing import Any

import pytest

from headrace.cluster.store import Change, Compacted
from headrace.stores.etcd_gateway import EtcdGateway
from headrace.stores.etcd_map import EtcdMap
from headrace.stores.etcd_url import parse_etcd_url
from headrace.stores.etcd_watch import WholeCommits


@pytest.fixture
def commits() -> WholeCommits:
    return WholeCommits(EtcdMap(EtcdGateway(parse_etcd_url("etcd://nowhere/p"), 1), "/p"))


def event(key: str, revision: int, value: bytes | None = b"1") -> dict[str, Any]:
    kv = {"key": base64.b64encode(f"/p/map{key}".encode()).decode(), "mod_revision": str(revision)}
    if value is None:
        return {"type": "DELETE", "kv": kv}
    return {"kv": {**kv, "value": base64.b64encode(value).decode()}}


def test_a_message_of_several_commits(commits: WholeCommits) -> None:
    message = {"events": [event("/a", 5), event("", 5), event("/a", 7, None), event("/b/c", 7, b""), event("", 7)]}
    changes = (Change("a", b"1", 5), Change("a", None, 7), Change("b/c", b"", 7))
    assert commits.take(message) == (7, changes)


def test_a_commit_that_changed_nothing_is_told(commits: WholeCommits) -> None:
    assert commits.take({"events": [event("", 5)]}) == (5, ())


def test_a_message_without_events_says_nothing(commits: WholeCommits) -> None:
    assert commits.take({"header": {"revision": "9"}}) is None


def test_a_commit_that_is_cut_is_held_until_the_rest_is_here(commits: WholeCommits) -> None:
    assert commits.take({"fragment": True, "events": [event("/a", 5)]}) is None
    cut = {"fragment": True, "events": [event("/b", 5), event("", 5), event("/a", 6)]}
    assert commits.take(cut) == (5, (Change("a", b"1", 5), Change("b", b"1", 5)))
    assert commits.take({"events": [event("/b", 6), event("", 6)]}) == (6, (Change("a", b"1", 6), Change("b", b"1", 6)))
    assert commits.take({"events": [event("/a", 7)]}) == (7, (Change("a", b"1", 7),))


def test_a_cancelled_watch(commits: WholeCommits) -> None:
    with pytest.raises(Compacted, match="12"):
        commits.take({"canceled": True, "compact_revision": "12"})
    with pytest.raises(ConnectionError, match="no leader"):
        commits.take({"canceled": True, "cancel_reason": "no leader"})
