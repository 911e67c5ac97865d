"""A log file that is rotated by size, written by a thread of its own: no event loop waits for the disk that the log is on.

The queue between them has a bound. While the disk takes nothing, lines beyond it are dropped, and the first that gets
through again is preceded by one that says how many. What a killed process (SIGKILL) had queued is lost.
"""

import atexit
import logging
from contextlib import suppress
from logging.handlers import QueueHandler, RotatingFileHandler, WatchedFileHandler
from pathlib import Path
from queue import Full, Queue
from threading import Thread

from headrace.base.errors import UserError

LOG_FILE_BYTES = 100 << 20
FILES_KEPT = 5
QUEUED_LINES_MAX = 10_000
LOG_CLOSE_SECONDS_MAX = 2.0


def open_log_file(path: str, file_bytes: int = LOG_FILE_BYTES, files: int = FILES_KEPT) -> "LogFile":
    """With 0 bytes it is never rotated here, and opened anew when somebody else (logrotate) has moved it."""
    if file_bytes < 0 or files < 1:
        raise UserError(
            "a log file cannot have fewer than 0 bytes, nor fewer than 1 be kept", "see docs/config-file.md"
        )
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        written = (
            RotatingFileHandler(path, maxBytes=file_bytes, backupCount=files, encoding="utf-8")
            if file_bytes
            else WatchedFileHandler(path, encoding="utf-8")
        )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UserError(f"cannot write the log file {path}: {reason}", "choose another with --log-file") from None
    return LogFile(written)


class LogFile(QueueHandler):
    """Formats a line where it is logged, since its values may change, and writes it elsewhere."""

    def __init__(self, written: logging.Handler, queued_max: int = QUEUED_LINES_MAX) -> None:
        self._lines: Queue[logging.LogRecord | None] = Queue(queued_max)
        super().__init__(self._lines)
        self._dropped = 0
        self._written = written
        self._writer = Thread(target=self._write, name="log file", daemon=True)
        self._writer.start()
        atexit.register(self.close)

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            if self._dropped:
                self._lines.put_nowait(self._remark())
                self._dropped = 0
            self._lines.put_nowait(record)
        except Full:
            self._dropped += 1

    def _remark(self) -> logging.LogRecord:
        text = "%(lines)d lines of this log were dropped: its disk was too slow"
        values = ({"lines": self._dropped},)
        remark: logging.LogRecord = self.prepare(
            logging.LogRecord("headrace.log_file", logging.WARNING, "", 0, text, values, None)
        )
        return remark

    def _write(self) -> None:
        while (record := self._lines.get()) is not None:
            self._written.handle(record)
            self._lines.task_done()
        self._lines.task_done()

    def close(self) -> None:
        """Writes the queued lines first, unless the disk hangs, then closes the file."""
        atexit.unregister(self.close)
        if self._writer.is_alive():
            with suppress(Full):
                self._lines.put(None, timeout=LOG_CLOSE_SECONDS_MAX)
            self._writer.join(LOG_CLOSE_SECONDS_MAX)
        self._written.close()
        super().close()
