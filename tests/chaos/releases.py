"""Brokers of an earlier release beside those of the working tree: its sources, and which broker runs from which.

The earlier release is the newest tag that the working tree descends from and whose sources are others, since an upgrade from
itself would show nothing; as long as there is none, a commit that landed.
Its sources run in the environment of the tests, so a release is also held to the libraries of today.
"""

import subprocess
import sys
import tarfile
from functools import partial
from io import BytesIO
from pathlib import Path

from chaos.cluster import Host

CHECKOUT = Path(__file__).resolve().parents[2]
LANDED = "ac579a7a524ddde394f9a3e26ff62c9c21aca719"
TODAY = CHECKOUT / "src"


def last_release(checkout: Path = CHECKOUT) -> str:
    before = "HEAD"
    while (tagged := _git("describe", "--tags", "--abbrev=0", before, checkout=checkout)).returncode == 0:
        tag = tagged.stdout.decode().strip()
        if _git("diff", "--quiet", tag, "--", "src", checkout=checkout).returncode:
            return tag
        before = f"{tag}^"
    return LANDED


def has_sources(release: str) -> bool:
    return _git("cat-file", "-e", f"{release}^{{commit}}").returncode == 0


def sources_of(release: str, folder: Path) -> Path:
    """What goes into PYTHONPATH to run that release."""
    archive = _git("archive", "--format=tar", release, "src")
    assert archive.returncode == 0, archive.stderr.decode()
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder / "src"


def _git(*arguments: str, checkout: Path = CHECKOUT) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=checkout, capture_output=True, check=False)


class Versions:
    """The sources that each broker is started from, the next time that it is started."""

    def __init__(self, at_first: Path) -> None:
        self._sources = dict.fromkeys((1, 2, 3), at_first)

    def hosts(self) -> list[Host]:
        return [Host(broker, wrap=partial(self._from_sources, broker)) for broker in self._sources]

    def change(self, sources: Path, *brokers: int) -> None:
        self._sources.update(dict.fromkeys(brokers, sources))

    def loaded_by(self, broker: int) -> Path:
        """Where its Python finds the package: not in the environment of the tests, though that has one too."""
        command = self._from_sources(
            broker, [sys.executable, "-P", "-c", "import headrace; print(headrace.__path__[0])"]
        )
        return Path(subprocess.check_output(command, text=True).strip())

    def _from_sources(self, broker: int, command: list[str]) -> list[str]:
        return ["env", f"PYTHONPATH={self._sources[broker]}", *command]
