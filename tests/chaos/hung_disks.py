"""Disks that hang: each broker has a file system of its own, and a frozen one lets every write and sync wait, for ever.

`fsfreeze` is what makes snapshots of running machines; who writes meanwhile waits in the kernel, where no signal reaches
it, as with a dead SAN or a stuck NFS server. Needs root and loop devices.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

SIZE_BYTES = 4 << 30
_TOOLS = ("fsfreeze", "mkfs.ext4", "mount", "umount")


def can_hang() -> bool:
    return os.geteuid() == 0 and Path("/dev/loop-control").exists() and all(map(shutil.which, _TOOLS))


class HungDisks:
    """Under `data/broker-N`; a disk that still hangs at the end is let go first, since nothing could end before."""

    def __init__(self, data: Path, brokers: int = 3) -> None:
        self._folders = {number: data / f"broker-{number}" for number in range(1, brokers + 1)}
        self._images = data / "images"
        self._hung: set[int] = set()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "HungDisks":
        self._images.mkdir(parents=True)
        with contextlib.ExitStack() as stack:
            for number, folder in self._folders.items():
                self._mount(self._images / f"{number}.ext4", folder)
                stack.callback(self._unmount, number)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def hanging(self, broker: int) -> Iterator[None]:
        self.hang(broker)
        try:
            yield
        finally:
            self.let_go(broker)

    def hang(self, broker: int) -> None:
        _run("fsfreeze", "--freeze", self._folders[broker])
        self._hung.add(broker)

    def let_go(self, broker: int) -> None:
        if broker in self._hung:
            _run("fsfreeze", "--unfreeze", self._folders[broker])
            self._hung.discard(broker)

    def _mount(self, image: Path, folder: Path) -> None:
        with image.open("wb") as file:
            file.truncate(SIZE_BYTES)
        _run("mkfs.ext4", "-q", "-E", "lazy_itable_init=1,lazy_journal_init=1", image)
        folder.mkdir(parents=True, exist_ok=True)
        _run("mount", "-o", "loop", image, folder)

    def _unmount(self, number: int) -> None:
        self.let_go(number)
        _run("umount", "--lazy", self._folders[number])


def _run(*words: str | Path) -> None:
    subprocess.run(words, check=True)
