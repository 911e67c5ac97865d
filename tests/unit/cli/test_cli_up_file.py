"""What `up` takes from its file when that is read again, and how its brokers are told."""

import os
from pathlib import Path

import pytest

from headrace.base.errors import UserError
from headrace.cli.config.file import ConfigFile, read_config
from headrace.cli.run.new_options import NewOptions, ParentPipe
from headrace.cli.up.file import UpFile

GIVEN = {"log.retention.hours": "7"}


def refuse_zero(_: ConfigFile, settings: dict[str, str]) -> None:
    if settings.get("num.partitions") == "13":
        raise UserError("13 partitions cannot be", "choose another number")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "headrace.toml"
    file.write_text("[broker]\nnum.partitions = 4\nlog.retention.hours = 5\n[up]\nbrokers = 3\nlog-level = 'error'\n")
    return file


def up_file(path: Path, level: str | None = None) -> UpFile:
    return UpFile(read_config(str(path)), {"min.insync.replicas": "2"}, GIVEN, level, refuse_zero)


def test_the_command_line_wins_over_the_file_and_that_over_defaults(path: Path) -> None:
    settings = {"min.insync.replicas": "2", "num.partitions": "4", "log.retention.hours": "7"}
    assert up_file(path).options == NewOptions(settings, "error")
    assert up_file(path, "debug").options.log_level == "debug"


def test_what_was_taken_out_of_the_file_goes_back_to_its_default(path: Path) -> None:
    file, given = up_file(path), up_file(path, "debug")
    path.write_text("[broker]\nmin.insync.replicas = 1\n")
    read = file.read_again()
    assert read.options == NewOptions({"min.insync.replicas": "1", "log.retention.hours": "7"}, "warning")
    assert (read.changed, read.later) == (["min.insync.replicas", "num.partitions", "log-level"], ["brokers"])
    assert given.read_again().options.log_level == "debug"
    # A second time nothing is new, and the options of `up` still wait.
    assert (again := file.read_again()).changed == [] and again.later == ["brokers"]


@pytest.mark.parametrize("text", ["[broker]\nnum.partition = 3", "a b", "[broker]\nnum.partitions = 13"])
def test_a_wrong_file_changes_nothing(path: Path, text: str) -> None:
    file = up_file(path)
    before, right = file.options, path.read_text()
    path.write_text(text)
    with pytest.raises(UserError):
        file.read_again()
    path.write_text(right)
    assert file.options == before and file.read_again().changed == []


def test_lines_come_whole_and_the_end_is_the_parents() -> None:
    read, write = os.pipe()
    pipe = ParentPipe(read)
    first, second = NewOptions({"num.partitions": "3"}, "info"), NewOptions({}, "debug")
    line = second.to_line()
    os.write(write, first.to_line() + line[:5])
    assert pipe.read() == [first]
    os.write(write, line[5:])
    assert pipe.read() == [second]
    os.close(write)
    assert pipe.read() is None
    os.close(read)
