"""Disks to be broken: a small one that fills up, and one that a test tells when to fail or to be slow."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos.cluster import Host

SMALL_BYTES = 48 << 20
_SERVE = Path(__file__).with_name("faulty_serve.py")


class Disk:
    """The orders for the disk of one broker; see `faulty_serve`."""

    def __init__(self, folder: Path, broker: int) -> None:
        self._orders = folder / f"orders-{broker}.json"
        self.host = Host(broker, wrap=self._wrap)

    def order(self, **orders: float) -> None:
        fresh = self._orders.with_suffix(".new")
        fresh.write_text(json.dumps(orders))
        fresh.replace(self._orders)

    def heal(self) -> None:
        self.order()

    def _wrap(self, command: list[str]) -> list[str]:
        python, safe_path, *_ = command
        return [
            python,
            safe_path,
            str(_SERVE),
            str(self._orders),
            *command[command.index("serve") + 1 :],
        ]


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own in memory; needs root."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Takes all that is left; remove the file to give it back."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        left = shutil.disk_usage(folder).free
        while left > 0:
            try:
                left -= file.write(bytes(min(left, 1 << 20)))
            except OSError:
                break
    return ballast
