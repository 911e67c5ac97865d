"""The program that `syncfs` starts: for each byte that comes in it runs one syncfs, and answers a byte for the
result.

Started as a file, with nothing of Headrace around it, so that it takes as little memory as a Python can. It ends when
its input does, and so with the broker, however that ends.
"""

import ctypes
import os
import sys

DONE, NOT_NOW = 0, 255
DIRTY_BYTES_MAX = 32 << 20
_MEMINFO_BYTES = 4096


def dirty_bytes(meminfo: bytes) -> int:
    lines = (line.split() for line in meminfo.splitlines())
    return 1024 * sum(int(line[1]) for line in lines if line[0] in (b"Dirty:", b"Writeback:"))


def main(path: str) -> None:
    syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    # Kept open: a descriptor remembers which errors it has reported.
    root = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    meminfo = os.open("/proc/meminfo", os.O_RDONLY)
    while os.read(0, 1):
        if dirty_bytes(os.pread(meminfo, _MEMINFO_BYTES, 0)) >= DIRTY_BYTES_MAX:
            answer = NOT_NOW
        else:
            answer = ctypes.get_errno() if syncfs(root) else DONE
        os.write(1, bytes((answer,)))


if __name__ == "__main__":
    main(sys.argv[1])
