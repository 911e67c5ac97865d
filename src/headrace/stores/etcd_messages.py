"""The few messages of etcd's KV, Watch and Lease services that we use, in the gateway's JSON: bytes are base64, 64-bit
numbers are strings, and what is zero or empty is left out of an answer.
"""

import base64
from typing import Final, NamedTuple

from headrace.stores.etcd_replies import Json

RANGE: Final = "/v3/kv/range"
TXN: Final = "/v3/kv/txn"
WATCH: Final = "/v3/watch"
GRANT: Final = "/v3/lease/grant"
KEEP_ALIVE: Final = "/v3/lease/keepalive"
REVOKE: Final = "/v3/lease/revoke"


class Kv(NamedTuple):
    key: str
    value: bytes
    revision: int
    """The revision of the last write."""
    created: int
    lease: str

    @classmethod
    def read(cls, kv: Json) -> "Kv":
        return cls(
            key=base64.b64decode(kv["key"]).decode(),
            value=base64.b64decode(kv.get("value", "")),
            revision=int(kv["mod_revision"]),
            created=int(kv.get("create_revision", 0)),
            lease=kv.get("lease", ""),
        )


NO_KV: Final = Kv("", b"", 0, 0, "")


def after_all_below(key: str) -> str:
    """The end of a range that holds the key and everything below it, by slashes: `a`, `a/b`, `a/b/c`."""
    return key + chr(ord("/") + 1)


def get(key: str, end: str = "", *, revision: int = 0, limit: int = 0, keys_only: bool = False) -> Json:
    request: Json = {"key": _b64(key.encode())}
    if end:
        request["range_end"] = _b64(end.encode())
    if revision:
        request["revision"] = str(revision)
    if limit:
        request["limit"] = str(limit)
    if keys_only:
        request["keys_only"] = True
    return request


def in_txn_get(key: str, *, keys_only: bool = False) -> Json:
    return {"request_range": get(key, keys_only=keys_only)}


def in_txn_put(key: str, value: bytes | None, lease: str = "") -> Json:
    """A put, or a deletion when `value` is None, as part of a transaction."""
    if value is None:
        return {"request_delete_range": {"key": _b64(key.encode())}}
    put = {"key": _b64(key.encode()), "value": _b64(value)}
    return {"request_put": {**put, "lease": lease} if lease else put}


def in_txn_txn(txn: Json) -> Json:
    return {"request_txn": txn}


def txn(compare: list[Json], success: list[Json], failure: list[Json] | None = None) -> Json:
    return {"compare": compare, "success": success, "failure": failure or []}


def has_revision(key: str, revision: int) -> Json:
    return {"key": _b64(key.encode()), "target": "MOD", "result": "EQUAL", "mod_revision": str(revision)}


def was_created_at(key: str, revision: int) -> Json:
    return {"key": _b64(key.encode()), "target": "CREATE", "result": "EQUAL", "create_revision": str(revision)}


def create_watch(key: str, end: str, start: int) -> Json:
    request = {"key": _b64(key.encode()), "range_end": _b64(end.encode()), "start_revision": str(start)}
    return {"create_request": {**request, "fragment": True}}


def revision_of(reply: Json) -> int:
    """The revision of the whole etcd at the moment of the reply."""
    return int(reply["header"]["revision"])


def kvs_of(reply: Json) -> list[Kv]:
    return [Kv.read(kv) for kv in reply.get("kvs", ())]


def kv_of(reply: Json) -> Kv:
    return next(iter(kvs_of(reply)), NO_KV)


def gets_of(reply: Json) -> list[Kv]:
    """The answers to a transaction's gets of one key each, in their order."""
    return [kv_of(each["response_range"]) for each in reply.get("responses", ()) if "response_range" in each]


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
