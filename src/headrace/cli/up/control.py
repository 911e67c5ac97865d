"""The way from `headrace start` to the `headrace up` that runs: a Unix socket in the data directory.

One connection is one request: a line of JSON each way. Whoever may write to the data directory may ask.
"""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.cli.failure import Failure

SOCKET = "up.sock"
LINE_BYTES_MAX = 4096
CONTROL_READ_SECONDS_MAX = 1.0
START_SECONDS_MAX = 120.0


class ControlSocket:
    """The end of `up`."""

    def __init__(self, data: Path) -> None:
        self._path = data / SOCKET
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        with _short(data) as folder:
            self._socket.bind(f"{folder}/{SOCKET}")
        self._socket.listen()

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> "StartRequest | None":
        """A request, or None when whoever came asks nothing that makes sense."""
        connection, _ = self._socket.accept()
        connection.settimeout(CONTROL_READ_SECONDS_MAX)
        try:
            request = json.loads(_read_line(connection))
            return StartRequest(connection, int(request["start"]))
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()
            return None

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)


class StartRequest:
    """A request to start a broker, whose sender waits."""

    def __init__(self, connection: socket.socket, broker_id: int) -> None:
        self._connection = connection
        self.broker_id = broker_id

    def answer(self, reply: dict[str, Any]) -> None:
        with contextlib.suppress(OSError), self._connection:
            self._connection.sendall(json.dumps(reply).encode() + b"\n")


def ask_to_start(data: Path, broker_id: int) -> dict[str, Any]:
    """Asks `up` to start a broker, and returns its report once the broker serves. Raises Failure if it does not, or
    without `up`.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(START_SECONDS_MAX)
        try:
            with _short(data) as folder:
                connection.connect(f"{folder}/{SOCKET}")
            connection.sendall(json.dumps({"start": broker_id}).encode() + b"\n")
            reply = json.loads(_read_line(connection))
        except (OSError, ValueError):
            raise Failure(
                f"no `headrace up` runs on {data}",
                f"start it with `headrace up --data {data}`, or name its directory with --data",
            ) from None
    if "error" in reply:
        raise Failure(reply["error"], reply["fix"])
    assert isinstance(reply, dict), reply
    return reply


def _read_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < LINE_BYTES_MAX:
        chunk = connection.recv(LINE_BYTES_MAX)
        if not chunk:
            break
        line += chunk
    return line


@contextlib.contextmanager
def _short(folder: Path) -> Iterator[str]:
    """A name of the folder that fits: a socket's path may have 107 bytes, a data directory's more."""
    if not Path("/proc/self/fd").is_dir():
        yield min(str(folder), os.path.relpath(folder), key=len)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
