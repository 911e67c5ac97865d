"""Log lines on stderr: readable, or one JSON object each. Extra fields of a record (`extra={…}`) appear in both."""

import json
import logging
import sys
import time

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure_logs(log_format: str, level: str, broker_id: int | None) -> None:
    """Of a broker, or without a number of the gateway."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(broker_id) if log_format == "json" else ReadableLines(broker_id))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # A broken stderr (a closed terminal) must not become a traceback per line.
    logging.raiseExceptions = False


class ReadableLines(logging.Formatter):
    def __init__(self, broker_id: int | None) -> None:
        super().__init__()
        self.name = "gateway" if broker_id is None else f"broker-{broker_id}"

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        fields = "".join(f" {name}={value}" for name, value in _extra(record).items())
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
            **_extra(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _PLAIN}
