"""A client that keeps to the protocol only as far as a test wants: whole requests by our own codec, or any bytes at all."""

import itertools
import socket
import struct
from typing import Any

from headrace.wire.apis import APIS
from headrace.wire.codec import decode
from headrace.wire.frame import parse_response_header, request_frame
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.schema import Request

ANSWER_SECONDS = 20.0


class RawClient:
    def __init__(self, bootstrap: str, receive_buffer: int | None = None) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(ANSWER_SECONDS)
        self.socket.connect((host, int(port)))
        self.name = "{}:{}".format(*self.socket.getsockname())
        self._correlation_ids = itertools.count(1)

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def send_frame(self, content: bytes) -> None:
        self.send(struct.pack(">i", len(content)) + content)

    def send_request(self, request: Request, version: int) -> int:
        """Returns the correlation id that the reply will carry."""
        correlation_id = next(self._correlation_ids)
        self.send(b"".join(request_frame(request, version, correlation_id, "raw")))
        return correlation_id

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._receive(4))
        return self._receive(size)

    def receive(self, key: int, version: int) -> tuple[int, Any]:
        """The correlation id and the body of the next reply, which must be one to this API and version."""
        frame = self.receive_frame()
        correlation_id, position = parse_response_header(APIS[key], version, frame)
        return correlation_id, decode(APIS[key].response, version, frame, position)

    def ask(self, request: Request, version: int) -> Any:
        sent = self.send_request(request, version)
        answered, response = self.receive(request.API_KEY, version)
        assert answered == sent
        return response

    def greet(self) -> None:
        """As every client begins."""
        assert self.ask(ApiVersionsRequest("raw", "1"), 3).error_code == 0

    def is_closed_by_peer(self) -> bool:
        """Waits for the end of the connection; False when a reply comes instead."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _receive(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            chunk = self.socket.recv(count - len(content))
            if not chunk:
                raise ConnectionError(f"closed after {len(content)} of {count} bytes")
            content += chunk
        return content
