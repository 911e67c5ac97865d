"""A disk that fills up under load: writes are refused with a code that clients retry, the broker lives, and goes on when
there is room. Nothing that was acknowledged is lost, also when it is killed meanwhile."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.ledger import Ledger, Place
from chaos.load import Load
from chaos.reader import read_all
from clients.confluent import Confluent
from clients.raw import RawClient
from clients.raw_records import good_batch, produce
from headrace.base.errors import UserError
from headrace.testing import Broker

DISK_BYTES = 48 << 20
STORAGE_ERROR = 56


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.fixture
def broker(small_disk: Path) -> Iterator[Broker]:
    with Broker(data=small_disk / "data") as broker:
        yield broker


def test_writes_are_refused_until_there_is_room(broker: Broker) -> None:
    ledger, loads, places = begin_load(broker)
    admin = Confluent(broker.bootstrap)
    admin.create_topic("filler", 1)
    with RawClient(broker.bootstrap) as client:
        while (answer := produce(client, "filler", good_batch(bytes(500_000)))).error_code == 0:
            assert answer.base_offset < DISK_BYTES // 500_000, "more was taken than the disk holds"
        assert answer.error_code == STORAGE_ERROR
        assert "free space or lower retention" in answer.error_message
    admin.delete_topic("filler")
    expect_promises_kept(broker, ledger, loads, places)


def test_a_disk_filled_by_others_and_a_kill(broker: Broker, small_disk: Path) -> None:
    ledger, loads, places = begin_load(broker)
    ballast = fill_to_the_last_byte(small_disk)
    with RawClient(broker.bootstrap) as client:
        assert produce(client, "orders", good_batch(bytes(10_000))).error_code == STORAGE_ERROR
    broker.kill()
    with pytest.raises(UserError, match="no space left"):
        broker.start()
    ballast.unlink()
    broker.start()
    expect_promises_kept(broker, ledger, loads, places)


def begin_load(broker: Broker) -> tuple[Ledger, list[Load], list[Place]]:
    Confluent(broker.bootstrap).create_topic("orders", 2)
    places = [("orders", 0), ("orders", 1)]
    ledger = Ledger()
    loads = [
        Load("plain", broker.bootstrap, ledger, places, idempotent=False),
        Load("idempotent", broker.bootstrap, ledger, places, idempotent=True),
    ]
    for load in loads:
        load.start()
    ledger.wait_for_progress()
    return ledger, loads, places


def fill_to_the_last_byte(disk: Path) -> Path:
    ballast = disk / "ballast"
    file = os.open(ballast, os.O_CREAT | os.O_WRONLY)
    try:
        for size in (1 << 20, 4096):
            with pytest.raises(OSError):
                while True:
                    os.write(file, bytes(size))
    finally:
        os.close(file)
    return ballast


def expect_promises_kept(broker: Broker, ledger: Ledger, loads: list[Load], places: list[Place]) -> None:
    """Writes are taken again, and everything that was ever acknowledged is there."""
    ledger.wait_for_progress()
    for load in loads:
        load.stop()
    assert [failure for load in loads for failure in load.failures] == []
    found = read_all(broker.bootstrap, places)
    assert ledger.check(found, [load.name for load in loads if load.idempotent]) == []
