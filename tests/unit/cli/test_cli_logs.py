"""Log lines: what a message shows is a field of the JSON line, and a readable line ends with what it does not show."""

import json
import logging

import pytest

from headrace.cli.run.log_file import LogFile
from headrace.cli.run.logs import JsonLines, ReadableLines


def record(text: str, values: object = None, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("headrace.x", logging.WARNING, "", 0, text, (values,) if values else (), None)
    vars(made).update(extra)
    return made


CUT = record("%(topic)s is cut: %(cause)s", {"topic": "orders", "cause": OSError("rot"), "epoch": 7, "request": ""})


def test_a_json_line_has_every_value_by_name() -> None:
    line = json.loads(JsonLines(3).format(CUT))
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "warning",
        "broker": 3,
        "logger": "headrace.x",
        "message": "orders is cut: rot",
        "topic": "orders",
        "cause": "rot",
        "epoch": 7,
        "request": "",
    }
    assert "broker" not in json.loads(JsonLines(None).format(CUT))


def test_a_readable_line_shows_each_value_once() -> None:
    assert ReadableLines(3).format(CUT).endswith(" WARNING broker-3 orders is cut: rot epoch=7")
    assert ReadableLines(None).format(record("no values")).endswith(" WARNING gateway no values")


def test_lines_of_libraries_keep_their_form() -> None:
    line = record("%s of %d", extra_field=1)
    line.args = ("one", 2)
    assert json.loads(JsonLines(None).format(line))["message"] == "one of 2"
    assert json.loads(JsonLines(None).format(line))["extra_field"] == 1


@pytest.mark.parametrize("lines", [JsonLines(1), ReadableLines(1)])
def test_a_traceback_belongs_to_its_line(lines: logging.Formatter) -> None:
    try:
        raise OSError("rot")
    except OSError as error:
        failed = logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), (OSError, error, error.__traceback__))
    assert "OSError: rot" in lines.format(failed)


class Slow(logging.Handler):
    """A disk that takes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.acquire()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def test_a_log_whose_disk_is_hung_holds_nobody_up_and_says_what_it_dropped() -> None:
    disk = Slow()
    log = LogFile(disk, queued_max=3)
    for number in range(20):
        log.handle(record(f"line {number}"))
    written = len(disk.lines)
    disk.release()
    log._lines.join()
    log.handle(record("after"))
    log.close()
    assert written == 0
    assert disk.lines[:3] == ["line 0", "line 1", "line 2"]
    remark, last = disk.lines[-2:]
    kept = len(disk.lines) - 2
    assert remark == f"{20 - kept} lines of this log were dropped: its disk was too slow"
    assert last == "after"
