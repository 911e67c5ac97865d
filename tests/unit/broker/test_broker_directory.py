"""A data directory: one broker at a time, always the same one, and how its last run ended."""

import json
from random import Random

import pytest

from headrace.base.errors import UserError
from headrace.broker.disk.directory import DataDirectory
from sim.disk import SimDisk

PATH = "/srv/data/broker-1"


def claimed(machine: SimDisk) -> DataDirectory:
    directory = DataDirectory(machine.mount(), PATH)
    directory.lock()
    directory.claim("cluster-a", 1, lambda: "directory-a")
    return directory


def test_a_new_directory_becomes_ours_and_stays_so_through_a_power_cut() -> None:
    machine = SimDisk()
    assert claimed(machine).id == "directory-a"
    for seed in range(20):
        machine.crash(Random(seed))
        again = DataDirectory(machine.mount(), PATH)
        again.lock()
        again.claim("cluster-a", 1, lambda: "another")
        assert again.id == "directory-a"


@pytest.mark.parametrize(
    ("cluster", "broker", "cause"),
    [("cluster-b", 1, "belongs to cluster cluster-a"), ("cluster-a", 2, "belongs to broker 1, not 2")],
)
def test_it_is_never_used_for_another(cluster: str, broker: int, cause: str) -> None:
    machine = SimDisk()
    claimed(machine)
    with pytest.raises(UserError, match=cause) as refused:
        DataDirectory(machine.mount(), PATH).claim(cluster, broker, lambda: "new")
    assert "--data" in refused.value.fix


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b'"text"', b'{"v": 1, "cluster": "a"}'])
def test_a_marker_that_makes_no_sense_is_refused_with_the_fix(content: bytes) -> None:
    disk = SimDisk().mount()
    disk.mkdir(PATH)
    disk.write_atomic(f"{PATH}/broker", content)
    with pytest.raises(UserError, match="is damaged") as refused:
        DataDirectory(disk, PATH).claim("cluster-a", 1, lambda: "new")
    assert "backup" in refused.value.fix


def test_another_format_is_refused_with_the_fix() -> None:
    disk = SimDisk().mount()
    disk.mkdir(PATH)
    newer = {"v": 99, "cluster": "cluster-a", "broker": 1, "directory": "directory-a"}
    disk.write_atomic(f"{PATH}/broker", json.dumps(newer).encode())
    with pytest.raises(UserError, match="format 99") as refused:
        DataDirectory(disk, PATH).claim("cluster-a", 1, lambda: "new")
    assert "version of Headrace" in refused.value.fix


def test_two_at_a_time_are_one_too_many() -> None:
    disk = SimDisk().mount()
    release = DataDirectory(disk, PATH).lock()
    with pytest.raises(UserError, match="in use"):
        DataDirectory(disk, PATH).lock()
    release()
    DataDirectory(disk, PATH).lock()


@pytest.mark.parametrize("seed", range(10))
def test_the_clean_mark_is_good_for_one_start(seed: int) -> None:
    machine = SimDisk()
    directory = claimed(machine)
    assert not directory.take_clean_mark()
    directory.leave_clean_mark()
    assert directory.take_clean_mark()
    machine.crash(Random(seed))
    assert not DataDirectory(machine.mount(), PATH).take_clean_mark(), "a crash leaves none"


def test_a_clean_mark_of_another_format_is_none() -> None:
    """What it says of the logs is not known here: they are read."""
    disk = SimDisk().mount()
    disk.mkdir(PATH)
    disk.write_atomic(f"{PATH}/clean", b"2")
    assert not DataDirectory(disk, PATH).take_clean_mark()
    assert not disk.exists(f"{PATH}/clean")
