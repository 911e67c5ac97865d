"""A disk in memory that forgets what was not synced, for tests and for the simulator of whole clusters.

    SimDisk                 the machine's disk: outlives processes, crashes and power cuts
      .mount() ─▶ Mount     what one process sees of it: a `headrace.base.disk.Disk`
        .open() ─▶ SimFile  a `headrace.base.disk.File` without a descriptor, so nothing can sendfile from it

Every file keeps two contents: the one that processes see (the page cache) and the durable one, with the writes and
truncations between the two in a list. Every directory does the same with its names. A sync job notes, when it is made,
how long that list is, and moves that much of it to the durable side when it runs.

    kill()      the process dies: its mount and all its files raise `Crashed`; the page cache lives
    crash(rng)  the power goes: of each list of unsynced changes a random part reached the disk. Writes tear at
                512-byte sectors, a later one may be there without an earlier one, and a file may have grown with zeros
                where its bytes should be; names made, renamed or removed may or may not be so

Faults: `capacity_bytes` (DiskFull beyond it), `fail_writes` and `fail_syncs` (one DiskFailed for each text in the list,
on a path that contains it; `fail_directory_syncs` spares files), `is_failing` (every sync and small file fails, for as
long as it is set), `flip_bit` (rot, durable and visible). Bytes of a failed sync are in no later one, names are: see
`inodes`. `lies_about_directories` and `lies_about_files` make syncs of that kind do nothing: broken disks that a test of
the tests must notice. A seed gives the same crash every time: nothing here iterates over a set.
"""

from random import Random

from headrace.base.disk import Chunk
from headrace.base.errors import DiskFailed, DiskFull, UserError
from headrace.base.file_sync import Job
from sim.inodes import Directory, Inode

PLENTY_BYTES = 1 << 50


class Crashed(Exception):
    """The process that holds this handle is dead: whatever it tries, nothing comes of it."""


class SimDisk:
    def __init__(self) -> None:
        self.root = Directory()
        self.capacity_bytes: int | None = None
        self.fail_writes: list[str] = []
        self.fail_syncs: list[str] = []
        self.fail_directory_syncs: list[str] = []
        self.is_failing = False
        self.lies_about_directories = False
        self.lies_about_files = False
        self._mount: Mount | None = None

    def mount(self) -> "Mount":
        """One process at a time has the disk; the one before is dead."""
        self.kill()
        self._mount = Mount(self)
        return self._mount

    def kill(self) -> None:
        if self._mount is not None:
            self._mount.is_alive = False
            self._mount = None

    def crash(self, rng: Random) -> None:
        self.kill()
        self.root.lose_power(rng)

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        inode = self.file(path)
        for content in (inode.content, inode.durable):
            if position < len(content):
                content[position] ^= 1 << bit

    def used_bytes(self) -> int:
        return _bytes_below(self.root)

    def node(self, path: str) -> Inode | Directory | None:
        node: Inode | Directory | None = self.root
        for name in _names(path):
            node = node.entries.get(name) if isinstance(node, Directory) else None
        return node

    def file(self, path: str) -> Inode:
        node = self.node(path)
        if not isinstance(node, Inode):
            raise FileNotFoundError(path)
        return node

    def directory(self, path: str) -> Directory:
        node = self.node(path)
        if not isinstance(node, Directory):
            raise FileNotFoundError(path)
        return node

    def is_due(self, faults: list[str], path: str) -> bool:
        for text in faults:
            if text in path:
                faults.remove(text)
                return True
        return False


class Mount:
    """A `Disk` for one process, until that process is killed."""

    def __init__(self, machine: SimDisk) -> None:
        self.is_alive = True
        self.machine = machine
        self._locks: dict[str, None] = {}

    def check(self) -> None:
        if not self.is_alive:
            raise Crashed

    def open(self, path: str, create: bool = False) -> "SimFile":
        self.check()
        node = self.machine.node(path)
        if node is None and create:
            self._set(path, Inode())
        return SimFile(self, self.machine.file(path), path)

    def listdir(self, path: str) -> list[str]:
        self.check()
        return sorted(self.machine.directory(path).entries)

    def exists(self, path: str) -> bool:
        self.check()
        return self.machine.node(path) is not None

    def size(self, path: str) -> int:
        self.check()
        return len(self.machine.file(path).content)

    def mkdir(self, path: str) -> None:
        self.check()
        names = _names(path)
        for depth in range(1, len(names) + 1):
            parent = "/" + "/".join(names[:depth])
            if self.machine.node(parent) is None:
                self._set(parent, Directory())

    def rename(self, source: str, target: str) -> None:
        self.check()
        node = self.machine.node(source)
        if node is None:
            raise FileNotFoundError(source)
        assert _parent(source) == _parent(target), (
            "a rename across directories is two changes, and nobody here needs it"
        )
        self.machine.directory(_parent(source)).change({_names(source)[-1]: None, _names(target)[-1]: node})

    def unlink(self, path: str) -> None:
        self.check()
        if self.machine.node(path) is not None:
            self._set(path, None)

    def remove_tree(self, path: str) -> None:
        self.unlink(path)

    def read(self, path: str) -> bytes:
        self.check()
        return bytes(self.machine.file(path).content)

    def write_atomic(self, path: str, content: bytes) -> None:
        self.check()
        if self.machine.is_failing:
            raise DiskFailed(f"{path}: simulated")
        if self.free_bytes(path) < len(content):
            raise DiskFull(f"{path}: simulated")
        inode = Inode()
        inode.write(0, content)
        inode.settle(inode.mark())
        self._set(path, inode)
        self.sync_dir_job(_parent(path))()

    def sync_dir_job(self, path: str) -> Job:
        self.check()
        directory = self.machine.directory(path)
        mark = directory.mark()
        return lambda: self.settle(path, directory, mark, self.machine.lies_about_directories)

    def settle(self, path: str, node: Inode | Directory, mark: int, lie: bool) -> None:
        self.check()
        machine = self.machine
        is_named = isinstance(node, Directory) and machine.is_due(machine.fail_directory_syncs, path)
        if machine.is_failing or is_named or machine.is_due(machine.fail_syncs, path):
            node.settle(mark, lost=True)
            raise DiskFailed(f"{path}: simulated")
        if not lie:
            node.settle(mark)

    def free_bytes(self, path: str) -> int:
        self.check()
        capacity = self.machine.capacity_bytes
        return PLENTY_BYTES if capacity is None else capacity - self.machine.used_bytes()

    def total_bytes(self, path: str) -> int:
        self.check()
        capacity = self.machine.capacity_bytes
        return PLENTY_BYTES if capacity is None else capacity

    def device(self, path: str) -> str:
        return "disk"

    def lock(self, path: str) -> Job:
        self.check()
        if path in self._locks:
            raise UserError(f"{_parent(path)} is in use by another process (simulated)")
        self._locks[path] = None
        return lambda: self._locks.pop(path)

    def _set(self, path: str, node: Inode | Directory | None) -> None:
        self.machine.directory(_parent(path)).change({_names(path)[-1]: node})


class SimFile:
    def __init__(self, mount: Mount, inode: Inode, path: str) -> None:
        self.path = path
        self.size = len(inode.content)
        self.pins = 0
        self._mount = mount
        self._inode = inode
        self._is_closing = False

    def append(self, chunk: Chunk) -> None:
        self._check()
        machine = self._mount.machine
        if machine.is_due(machine.fail_writes, self.path):
            raise DiskFailed(f"{self.path}: simulated")
        if self._mount.free_bytes(self.path) < len(chunk):
            raise DiskFull(f"{self.path}: simulated")
        self._inode.write(self.size, chunk)
        self.size += len(chunk)

    def pread(self, length: int, position: int) -> bytes:
        self._check()
        return bytes(self._inode.content[position : position + length])

    def rewrite(self, position: int) -> None:
        self._check()
        self._inode.write(position, self._inode.content[position:])

    def truncate(self, size: int) -> None:
        self._check()
        self._inode.truncate(size)
        self.size = size

    def sync_job(self) -> Job:
        self._check()
        mark = self._inode.mark()
        return lambda: self._mount.settle(self.path, self._inode, mark, self._mount.machine.lies_about_files)

    def fileno(self) -> int | None:
        return None

    def pin(self) -> None:
        self.pins += 1

    def unpin(self) -> None:
        self.pins -= 1
        assert self.pins >= 0, (self.path, self.pins)

    def close(self) -> None:
        self._is_closing = True

    def _check(self) -> None:
        self._mount.check()
        assert self.pins or not self._is_closing, f"{self.path} is closed"


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _parent(path: str) -> str:
    return "/" + "/".join(_names(path)[:-1])


def _bytes_below(directory: Directory) -> int:
    return sum(
        _bytes_below(node) if isinstance(node, Directory) else len(node.content) for node in directory.entries.values()
    )
