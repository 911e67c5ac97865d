"""An etcd in memory behind the adapter's own gateway, on virtual time: its store, its leases, its watches, and their faults.

    Gateway --> FakeConnection --> FakeEtcd        in the place of `HttpConnection`: no sockets, every fault of a wire

A request may be lost before etcd has it, answered into the void, or arrive after its sender gave up. A member may hang:
it answers nothing and its streams fall silent. A deposed leader may go on answering keep-alives.
"""

import asyncio
import base64
import bisect
import json
from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

from headrace.stores.etcd_messages import GRANT, KEEP_ALIVE, RANGE, REVOKE, TXN, WATCH
from headrace.stores.etcd_url import Endpoint

Json = dict[str, Any]
NOT_FOUND, OUT_OF_RANGE = 5, 11


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Faults:
    """Chances, each of one call."""

    lose_request: float = 0.0
    lose_answer: float = 0.0
    late: float = 0.0
    cut_stream: float = 0.0
    stale_keep_alive: float = 0.0
    cut_messages: float = 0.3
    hung: set[str] = field(default_factory=set)


class FakeEtcd:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.faults = Faults()
        self.revision = 1
        self.compacted = 0
        self.now = 0.0
        self.history: list[tuple[int, list[Json]]] = []
        self.versions: dict[str, list[tuple[int, Json | None]]] = {}
        self.leases: dict[str, tuple[float, float]] = {}
        """The time to live of each, and when it ends."""
        self.connections: dict[FakeConnection, None] = {}
        self._last_lease = 100

    # -- what etcd does ------------------------------------------------------------------------------------------------

    def answer(self, path: str, body: Json) -> Json:
        self.expire()
        work = {RANGE: self._range, TXN: self._txn, GRANT: self._grant, KEEP_ALIVE: self._keep, REVOKE: self._revoke}
        return work[path](body) | {"header": {"revision": str(self.revision)}}

    def expire(self) -> None:
        self.now = asyncio.get_running_loop().time()
        for id_ in [id_ for id_, (_, ends) in self.leases.items() if ends <= self.now]:
            self._end_lease(id_)

    def new_leader(self) -> None:
        """Starts every lease anew, as an election does."""
        self.leases = {id_: (ttl, self.now + ttl) for id_, (ttl, _) in self.leases.items()}

    def compact(self) -> None:
        self.compacted = self.revision

    def put_back(self, revision: int) -> None:
        """As a restore from a snapshot of that time does: what came later never was."""
        self.revision, self.compacted = revision, 0
        self.history = [each for each in self.history if each[0] <= revision]
        for key, versions in self.versions.items():
            self.versions[key] = [version for version in versions if version[0] <= revision]
        for connection in list(self.connections):
            connection.abort()

    def _at(self, key: str, revision: int) -> Json | None:
        versions = self.versions.get(key, [])
        index = bisect.bisect_right(versions, revision, key=lambda version: version[0])
        return versions[index - 1][1] if index else None

    def _range(self, body: Json) -> Json:
        revision = int(body.get("revision", 0)) or self.revision
        if revision < self.compacted:
            raise Refused(OUT_OF_RANGE, "mvcc: required revision has been compacted")
        first, end = base64.b64decode(body["key"]).decode(), base64.b64decode(body.get("range_end", "")).decode()
        keys = sorted(key for key in self.versions if first <= key < end) if end else [first]
        kvs = [kv for key in keys if (kv := self._at(key, revision)) is not None]
        limit = int(body.get("limit", 0)) or len(kvs)
        return {"kvs": kvs[:limit], "more": len(kvs) > limit}

    def _txn(self, body: Json) -> Json:
        writes: list[tuple[str, Json | None]] = []
        reply = self._branch(body, writes)
        if writes:
            self._write(writes)
        return reply

    def _branch(self, body: Json, writes: list[tuple[str, Json | None]]) -> Json:
        holds = all(map(self._holds, body["compare"]))
        operations = body["success" if holds else "failure"]
        return {"succeeded": holds, "responses": [self._operate(each, writes) for each in operations]}

    def _holds(self, compare: Json) -> bool:
        kv = self._at(base64.b64decode(compare["key"]).decode(), self.revision) or {}
        name = {"MOD": "mod_revision", "CREATE": "create_revision"}[compare["target"]]
        return int(kv.get(name, 0)) == int(compare[name])

    def _operate(self, operation: Json, writes: list[tuple[str, Json | None]]) -> Json:
        ((kind, body),) = operation.items()
        if kind == "request_range":
            return {"response_range": self._range(body)}
        if kind == "request_txn":
            return {"response_txn": self._branch(body, writes)}
        key = base64.b64decode(body["key"]).decode()
        if kind == "request_delete_range":
            if self._at(key, self.revision) is not None:
                writes.append((key, None))
            return {"response_delete_range": {}}
        if body.get("lease") and body["lease"] not in self.leases:
            raise Refused(NOT_FOUND, "etcdserver: requested lease not found")
        writes.append((key, body))
        return {"response_put": {}}

    def _write(self, writes: list[tuple[str, Json | None]]) -> None:
        self.revision += 1
        events = []
        for key, body in writes:
            before, kv = self._at(key, self.revision - 1) or {}, None
            bare = {"key": base64.b64encode(key.encode()).decode(), "mod_revision": str(self.revision)}
            if body is not None:
                created = before.get("create_revision", str(self.revision))
                kv = {**bare, "value": body["value"], "create_revision": created, "lease": body.get("lease", "")}
            self.versions.setdefault(key, []).append((self.revision, kv))
            events.append({"kv": kv} if kv else {"type": "DELETE", "kv": bare})
        self.history.append((self.revision, events))
        for connection in list(self.connections):
            connection.on_events()

    def _grant(self, body: Json) -> Json:
        self._last_lease += 1
        self.leases[str(self._last_lease)] = (ttl := float(body["TTL"]), self.now + ttl)
        return {"ID": str(self._last_lease), "TTL": body["TTL"]}

    def _keep(self, body: Json) -> Json:
        held = self.leases.get(body["ID"])
        if held is None:
            is_stale = self.rng.random() < self.faults.stale_keep_alive
            return {"ID": body["ID"], "TTL": "2"} if is_stale else {"ID": body["ID"]}
        self.leases[body["ID"]] = (held[0], self.now + held[0])
        return {"ID": body["ID"], "TTL": str(int(held[0]))}

    def _revoke(self, body: Json) -> Json:
        if body["ID"] not in self.leases:
            raise Refused(NOT_FOUND, "etcdserver: requested lease not found")
        self._end_lease(body["ID"])
        return {}

    def _end_lease(self, id_: str) -> None:
        del self.leases[id_]
        hung = [key for key in self.versions if (self._at(key, self.revision) or {}).get("lease") == id_]
        if hung:
            self._write([(key, None) for key in hung])


ETCD: list[FakeEtcd] = []
"""The one of this storm."""


class FakeConnection:
    """In the place of `HttpConnection`."""

    def __init__(self, endpoint: Endpoint, etcd: FakeEtcd) -> None:
        self.endpoint = endpoint
        self.is_closed = False
        self._etcd = etcd
        self._reply = b""
        self._lines: deque[bytes] = deque()
        self._news = asyncio.Event()
        self._next = 0
        self._range = ("", "")
        etcd.connections[self] = None

    @classmethod
    async def open(cls, endpoint: Endpoint, tls: object) -> "FakeConnection":
        etcd = ETCD[-1]
        await asyncio.sleep(etcd.rng.uniform(0.0001, 0.002))
        return cls(endpoint, etcd)

    @property
    def _is_hung(self) -> bool:
        return self.endpoint.host in self._etcd.faults.hung

    async def send(self, path: str, body: bytes, headers: object) -> int:
        etcd, faults, rng = self._etcd, self._etcd.faults, self._etcd.rng
        await asyncio.sleep(rng.uniform(0.0001, 0.003))
        if self._is_hung:
            await asyncio.sleep(3600)
        if rng.random() < faults.lose_request:
            raise ConnectionResetError("lost on its way there")
        request = json.loads(body)
        if path == WATCH:
            self._begin_watch(request["create_request"])
            return 200
        if rng.random() < faults.late:
            asyncio.get_running_loop().call_later(rng.uniform(0.05, 3.0), self._arrive_late, path, request)
            raise ConnectionResetError("its sender gave up")
        try:
            self._reply, status = json.dumps(etcd.answer(path, request)).encode(), 200
        except Refused as refused:
            self._reply, status = json.dumps({"code": refused.code, "message": str(refused)}).encode(), 400
        await asyncio.sleep(rng.uniform(0.0001, 0.003))
        if self._is_hung or self.is_closed or rng.random() < faults.lose_answer:
            raise ConnectionResetError("lost on its way back")
        return status

    def _arrive_late(self, path: str, request: Json) -> None:
        try:
            self._etcd.answer(path, request)
        except Refused:
            return

    async def read_all(self) -> bytes:
        return self._reply

    async def read_line(self) -> bytes | None:
        while not self._lines:
            if self.is_closed:
                raise ConnectionResetError("the stream was cut")
            self._news.clear()
            await self._news.wait()
        return self._lines.popleft()

    def _begin_watch(self, request: Json) -> None:
        self._tell({"created": True})
        self._next = int(request["start_revision"])
        self._range = tuple(base64.b64decode(request[name]).decode() for name in ("key", "range_end"))  # type: ignore[assignment]
        if self._next <= self._etcd.compacted:
            self._tell({"canceled": True, "compact_revision": str(self._etcd.compacted)})
            self._next = 0
        self.on_events()

    def on_events(self) -> None:
        if not self._next or self.is_closed:
            return
        if self._is_hung:
            # Silent from now on, though it stays open: what it should have told is lost.
            self._next = 0
            return
        if self._etcd.rng.random() < self._etcd.faults.cut_stream:
            self.abort()
            return
        begin, end = self._range
        history = self._etcd.history
        for _, events in history[bisect.bisect_left(history, self._next, key=lambda each: each[0]) :]:
            ours = [each for each in events if begin <= base64.b64decode(each["kv"]["key"]).decode() < end]
            if ours:
                self._tell_events(ours)
        self._next = max(self._next, self._etcd.revision + 1)

    def _tell_events(self, events: list[Json]) -> None:
        while len(events) > 1 and self._etcd.rng.random() < self._etcd.faults.cut_messages:
            piece, events = events[:1], events[1:]
            self._tell({"fragment": True, "events": piece})
        self._tell({"events": events})

    def _tell(self, message: Json) -> None:
        self._lines.append(json.dumps({"result": message}).encode())
        self._news.set()

    def renewed(self) -> bool:
        return True

    def abort(self) -> None:
        self.is_closed = True
        self._etcd.connections.pop(self, None)
        self._news.set()
