"""Frozen or not, read from a tree like that of /proc and /sys/fs/cgroup, as they look on other machines."""

from pathlib import Path

import pytest

from headrace.stores.frozen_groups import is_frozen, let_die


class Machine:
    def __init__(self, path: Path) -> None:
        self.proc, self.groups = path / "proc", path / "cgroup"

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def mount(self, kind: str, root: str = "/", options: str = "rw") -> None:
        self.write(self.proc / "self" / "mountinfo", f"1 0 0:9 {root} {self.groups} rw shared:1 - {kind} x {options}\n")

    def run(self, pid: int, *lines: str) -> None:
        self.write(self.proc / str(pid) / "cgroup", "".join(f"{line}\n" for line in lines))

    def has(self, group: str, **files: str) -> None:
        for name, text in files.items():
            self.write(self.groups / group / name.replace("_", "."), text + "\n")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_second_version(machine: Machine) -> None:
    machine.mount("cgroup2")
    machine.run(7, "0::/docker/a")
    machine.has("docker/a", cgroup_events="populated 1\nfrozen 0", cgroup_freeze="0")
    assert not is_frozen(7, machine.proc)
    machine.has("docker/a", cgroup_events="populated 1\nfrozen 1")
    assert is_frozen(7, machine.proc)
    let_die(7, machine.proc)
    assert not (machine.groups / "cgroup.procs").exists()


def test_the_second_version_frozen_from_above_while_a_neighbour_holds_it_up(machine: Machine) -> None:
    machine.mount("cgroup2")
    machine.run(7, "0::/slice/docker/a")
    machine.has("slice/docker/a", cgroup_events="populated 1\nfrozen 0", cgroup_freeze="0")
    machine.has("slice", cgroup_freeze="1")
    assert is_frozen(7, machine.proc)


@pytest.mark.parametrize("state", ["FROZEN", "FREEZING"])
def test_the_first_version(machine: Machine, state: str) -> None:
    machine.mount("cgroup", options="rw,freezer")
    machine.run(7, "6:cpu,cpuacct:/other", "5:freezer:/docker/a", "0::/")
    machine.has("docker/a", freezer_state="THAWED")
    assert not is_frozen(7, machine.proc)
    machine.has("docker/a", freezer_state=state)
    assert is_frozen(7, machine.proc)
    let_die(7, machine.proc)
    assert (machine.groups / "cgroup.procs").read_text() == "7"


def test_what_a_container_sees(machine: Machine) -> None:
    machine.mount("cgroup2", root="/docker/a")
    machine.run(7, "0::/docker/a/inner")
    machine.run(8, "0::/docker/b")
    machine.has("inner", cgroup_events="frozen 1")
    assert is_frozen(7, machine.proc)
    assert not is_frozen(8, machine.proc)


def test_a_process_that_is_gone_and_a_machine_without_cgroups(machine: Machine) -> None:
    assert not is_frozen(7, machine.proc)
    machine.mount("tmpfs")
    assert not is_frozen(7, machine.proc)
    machine.run(7, "0::/")
    assert not is_frozen(7, machine.proc)
