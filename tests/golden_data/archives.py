"""The golden data directories, and a broker of today that opens one."""

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from cluster_view import View
from headrace.testing import Broker

ARCHIVES = sorted(Path(__file__).resolve().parent.glob("data-*.tar.xz"))
# Nothing may go for its age: the clock of the day on which this runs means nothing to a golden directory.
SETTINGS = {
    "log.retention.ms": "-1",
    "offsets.retention.minutes": "2147483647",
    "transactional.id.expiration.ms": "2147483647",
    "log.cleaner.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


def what_was_in(folder: Path, how: str) -> View:
    """What clients saw of it before its broker was ended; `how`: clean or killed."""
    return dict(json.loads((folder / f"{how}.json").read_text()))


def broker_on(folder: Path, how: str, settings: Mapping[str, str] | None = None) -> Broker:
    return Broker({**SETTINGS, **(settings or {})}, data=folder / how)
