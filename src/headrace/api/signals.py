"""Signals that end the loops of a client after the body they are in: SIGINT and SIGTERM, each once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.api.errors import ApiError


@contextmanager
def stopping_on_signals(stopping: threading.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        raise ApiError("stop_on_signals outside the main thread", "connect in the main thread, or call client.stop()")
    before: dict[signal.Signals, Any] = {}

    def put_back() -> None:
        while before:
            signal.signal(*before.popitem())

    def stop(number: int, frame: object) -> None:
        stopping.set()
        put_back()  # who asks a second time does not want to wait for the body

    before.update({each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)})
    try:
        yield
    finally:
        put_back()
