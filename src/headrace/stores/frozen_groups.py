"""Processes that a cgroup has frozen (`docker pause`, `systemctl freeze`): no signal did it, and no state shows it.

A frozen process reads as asleep (S) or waiting for a disk (D), as any other may. Only its cgroup tells: in the second
version `frozen 1` in its events, or an order to freeze from it or above, in the first any state but THAWED. In the
second one a frozen process can be killed. In the first it dies only when it is let go on: it is moved out of its cgroup
for that, which needs root, and leaves all others there frozen.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

PROC: Final = Path("/proc")


class _Mount(NamedTuple):
    point: Path
    root: PurePosixPath
    """The part of the hierarchy that is visible there."""

    def folder_of(self, path: str) -> Path | None:
        try:
            return self.point / PurePosixPath(path).relative_to(self.root)
        except ValueError:
            return None


def is_frozen(pid: int, proc: Path = PROC) -> bool:
    try:
        return any(_is_frozen(folder, top) for folder, top in _folders(pid, proc))
    except OSError:
        return False


def let_die(pid: int, proc: Path = PROC) -> None:
    """Moves a killed process out of a frozen cgroup of the first version, so that it dies. `OSError` if we may not."""
    for folder, top in _folders(pid, proc):
        if (folder / "freezer.state").exists():
            (top / "cgroup.procs").write_text(str(pid))


def _folders(pid: int, proc: Path) -> Iterator[tuple[Path, Path]]:
    """The cgroups of a process that can freeze it, each with the top of its hierarchy."""
    mounts = _mounts((proc / "self" / "mountinfo").read_text())
    for line in (proc / str(pid) / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        mount = mounts.get("freezer" if "freezer" in controllers.split(",") else controllers)
        folder = mount and mount.folder_of(path)
        if mount and folder:
            yield folder, mount.point


def _mounts(mountinfo: str) -> dict[str, _Mount]:
    """The mount of the second version's hierarchy under "", that of the first one's freezer under "freezer"."""
    mounts = {}
    # 38 31 0:35 / /sys/fs/cgroup/freezer rw,relatime shared:9 - cgroup cgroup rw,freezer
    for line in mountinfo.splitlines():
        where, _, what = line.partition(" - ")
        kind, _, options = what.split(" ", 2)
        is_freezer = kind == "cgroup" and "freezer" in options.split(",")
        if kind == "cgroup2" or is_freezer:
            root, point = where.split()[3:5]
            mounts["freezer" if is_freezer else ""] = _Mount(Path(point), PurePosixPath(root))
    return mounts


def _is_frozen(folder: Path, top: Path) -> bool:
    state = _text(folder / "freezer.state")
    if state:
        return state != "THAWED"
    if "frozen 1" in _text(folder / "cgroup.events").splitlines():
        return True
    # A freeze that is ordered and held up by a neighbour waiting for its disk: this process may be frozen all the same.
    chain = [each for each in (folder, *folder.parents) if each.is_relative_to(top)]
    return any(_text(each / "cgroup.freeze") == "1" for each in chain)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
