"""Headrace as its users run it: `headrace up` in the foreground, with a fresh data directory and default settings."""

import importlib.metadata
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Headrace:
    """`settings` are broker settings by Kafka's names, handed on with --set."""

    settings: dict[str, str] = field(default_factory=dict)
    name: str = "Headrace"

    def version(self) -> str:
        return importlib.metadata.version("headrace")

    def prepare(self, data: Path, brokers: int, port: int) -> list[list[str]]:
        command = [str(_executable()), "up", "--port", str(port), "--data", str(data / "data")]
        command += ["--brokers", str(brokers), "--no-gateway"]
        for name, value in self.settings.items():
            command += ["--set", f"{name}={value}"]
        return [command]


def missing() -> str | None:
    """What keeps Headrace from running here, in a sentence; None when nothing does."""
    return None if _executable().exists() else "there is no `headrace` beside this Python: run `make install`"


def _executable() -> Path:
    return Path(sys.executable).parent / "headrace"
