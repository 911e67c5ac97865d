"""A reader of server-sent events, as the standard says they are read."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
from gateway_process import SECONDS


class ServerSentEvent(NamedTuple):
    id: str
    name: str
    data: Any


class EventReader:
    def __init__(self, reply: httpx.Response) -> None:
        self._lines = _lines(reply)
        self.last_id = ""

    def __iter__(self) -> Iterator[ServerSentEvent]:
        name, data = "message", ""
        for line in self._lines:
            field, _, value = line.partition(": ")
            if field == "id":
                self.last_id = value
            elif field == "event":
                name = value
            elif field == "data":
                data = value
            elif not line and data:
                yield ServerSentEvent(self.last_id, name, json.loads(data))
                name, data = "message", ""

    def take(self, count: int) -> list[ServerSentEvent]:
        taken = []
        for event in self:
            taken.append(event)
            if len(taken) == count:
                break
        assert len(taken) == count, f"the stream ended after {taken}"
        return taken

    def values(self, count: int) -> list[Any]:
        return [event.data["value"] for event in self.take(count)]


@contextmanager
def listening(client: httpx.Client, topic: str, last_id: str = "", **query: Any) -> Iterator[EventReader]:
    """Each is a connection of its own, that is closed at the end."""
    headers = {"Last-Event-ID": last_id} if last_id else {}
    path = f"/api/v1/topics/{topic}/events"
    with client.stream("GET", path, params=query, headers=headers, timeout=SECONDS) as reply:
        if reply.status_code != 200:
            reply.read()
        assert reply.status_code == 200, reply.text
        reader = EventReader(reply)
        # The first line comes when the listener has its place.
        assert next(reader._lines).startswith("retry: ")
        yield reader


def _lines(reply: httpx.Response) -> Iterator[str]:
    """Only a line feed ends a line here; Python's own splitting knows many more ends."""
    rest = b""
    for chunk in reply.iter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode() for line in lines)
