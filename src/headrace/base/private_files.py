"""Files and directories that nobody but their owner may read: data, metadata, backups, keys.

The mode is given where they are made, so there is no moment in which others could open them. What an older release left
readable stays so: `chmod -R go= DATA` takes it back.
"""

import os
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700


def make_directory(path: Path) -> None:
    """Makes a directory with its parents, all private; those that exist are left as they are."""
    try:
        path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    except FileNotFoundError:
        make_directory(path.parent)
        path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """The `opener` of `open` for a private file."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)


def touch_new(path: Path) -> None:
    """Makes an empty file, unless there is one: that is not opened, since closing it would drop locks that we hold on it."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        pass
