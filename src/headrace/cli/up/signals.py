"""The signals of `headrace up`: they wake the selector that waits for news, and ask for an end or for the file again."""

import contextlib
import os
import selectors
import signal
from collections.abc import Iterator

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """With a file SIGHUP asks for it to be read again; without one, or when the terminal is gone, it asks for the end."""

    def __init__(self, has_file: bool) -> None:
        self.stops_asked = 0
        self._has_file = has_file
        self._is_file_changed = False
        self._had_terminal = _has_terminal()

    def takes_change(self) -> bool:
        """Whether the file is to be read again; said once."""
        changed, self._is_file_changed = self._is_file_changed, False
        return changed

    @contextlib.contextmanager
    def waking(self, selector: selectors.BaseSelector) -> Iterator[None]:
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        selector.register(wake_read, selectors.EVENT_READ, lambda: os.read(wake_read, 4096))
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        former = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(-1)
            selector.close()
            os.close(wake_read)
            os.close(wake_write)

    def _on_signal(self, number: int, _: object) -> None:
        if number == signal.SIGHUP and self._has_file and _has_terminal() == self._had_terminal:
            self._is_file_changed = True
        else:
            self.stops_asked += 1


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
