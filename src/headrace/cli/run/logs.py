"""Log lines: readable, or one JSON object each; on stderr, on stdout, or in a file that is rotated (`log_file`).

A line names its values: `logger.warning("%(topic)s cannot be read: %(cause)s", {"topic": …, "cause": …, "epoch": …})`.
In JSON each of them is a field of its own; a readable line ends with those that its message does not show. Fields of a
record (`extra={…}`), as libraries give them, count too. docs/monitoring.md lists the names, and a test holds every call to
them (`tests/tidy/test_log_calls.py`).
"""

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.cli.run.log_file import FILES_KEPT, LOG_FILE_BYTES, open_log_file

STDOUT = "-"
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LogOptions(NamedTuple):
    format: str = "text"
    level: str = "info"
    file: str = ""
    """Nothing for stderr, "-" for stdout."""
    file_bytes: int = LOG_FILE_BYTES
    files: int = FILES_KEPT


def configure_logs(options: LogOptions, broker_id: int | None) -> None:
    """Configures the logs of a broker, or without a number of the gateway. Raises UserError if the file cannot be
    written.
    """
    handler = _handler(options)
    handler.setFormatter(JsonLines(broker_id) if options.format == "json" else ReadableLines(broker_id))
    logging.basicConfig(level=options.level.upper(), handlers=[handler], force=True)
    # A broken stderr (a closed terminal) must not become a traceback per line.
    logging.raiseExceptions = False


def _handler(options: LogOptions) -> logging.Handler:
    if options.file in ("", STDOUT):
        return logging.StreamHandler(sys.stdout if options.file else sys.stderr)
    return open_log_file(options.file, options.file_bytes, options.files)


class ReadableLines(logging.Formatter):
    def __init__(self, broker_id: int | None) -> None:
        super().__init__()
        self.name = "gateway" if broker_id is None else f"broker-{broker_id}"

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        unseen = {name: value for name, value in fields_of(record).items() if not _shows(record, name)}
        fields = "".join(f" {name}={value}" for name, value in unseen.items() if value not in ("", None))
        line = f"{moment}.{record.msecs:03.0f} {record.levelname:<7} {self.name} {record.getMessage()}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    def __init__(self, broker_id: int | None) -> None:
        super().__init__()
        self.who: dict[str, object] = {} if broker_id is None else {"broker": broker_id}

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            **self.who,
            "logger": record.name,
            "message": record.getMessage(),
            **fields_of(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    named = dict(record.args) if isinstance(record.args, Mapping) else {}
    return {**named, **{name: value for name, value in vars(record).items() if name not in _PLAIN}}


def _shows(record: logging.LogRecord, name: str) -> bool:
    return f"%({name})" in str(record.msg)
