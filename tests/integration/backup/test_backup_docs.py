"""The walk-through of docs/backup.md does what it says: every command is run, and prints what stands below it.

Names and numbers that differ each time (ids, times, sizes, offsets) are only held to be there.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.cli import app
from headrace.testing import Broker

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "backup.md").read_text()
COMMANDS = [
    (command, shown)
    for block in re.findall(r"```\n(\$ .*?)```", PAGE, re.DOTALL)
    for command, _, shown in (each.partition("\n") for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
]
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


def test_the_walk_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(COMMANDS) == 9
    monkeypatch.chdir(tmp_path)
    with Broker(SETTINGS) as old, Broker(SETTINGS) as new:
        fill(old.bootstrap)
        monkeypatch.setenv("HEADRACE_BOOTSTRAP", old.bootstrap)
        ours: dict[str, str] = {}
        theirs: dict[str, str] = {}
        for command, shown in COMMANDS:
            ran = command.replace("127.0.0.1:9192", new.bootstrap)
            assert alike(said_by(ran, capsys), ours) == alike(shown, theirs), command
    assert [path.name for path in tmp_path.iterdir()] == ["backups"]


def said_by(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """In this process, since each of its own takes a second to load; only a pipe needs a shell."""
    if "|" in command:
        in_shell = command.replace("headrace", f"{sys.executable} -m headrace.cli")
        return subprocess.run(in_shell, shell=True, check=True, capture_output=True, text=True, timeout=60).stdout
    capsys.readouterr()
    assert app.run(shlex.split(command)[1:]) == 0, command
    return capsys.readouterr().out


def fill(bootstrap: str) -> None:
    client = {"bootstrap.servers": bootstrap, "log_level": 0}
    admin = AdminClient(client)
    admin.create_topics([NewTopic("orders", 3, 1)])["orders"].result(30)
    producer = Producer(client)
    for number in range(120):
        producer.produce("orders", b"order %d" % number + b"." * 80, b"k%d" % number, number % 3)
    assert producer.flush(30) == 0
    billing = Consumer({**client, "group.id": "billing"})
    billing.commit(offsets=[TopicPartition("orders", number, 20) for number in range(3)], asynchronous=False)
    billing.close()


def alike(text: str, backups: dict[str, str]) -> list[str]:
    """Line by line, with one word for all that differs each time; backups are numbered as they appear."""
    text = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{6}", lambda id: backups.setdefault(id[0], f"BACKUP {len(backups) + 1}"), text)
    text = re.sub(r"of cluster [\w-]{22}", "of cluster ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r"[\d.]+ (B|kB|MB)", "SIZE", text)
    text = re.sub(r"orders-\d offset \d+", "PLACE", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]
