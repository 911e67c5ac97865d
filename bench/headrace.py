"""Headrace as its users run it: `headrace up` in the foreground, with a fresh data directory and default settings."""

import importlib.metadata
import sys
from dataclasses import dataclass, field
from pathlib import Path

_METRICS_PORT_SHIFT = 1000  # off the default, where a broker in daily use may be


@dataclass
class Headrace:
    """`settings` are broker settings by Kafka's names, handed on with --set."""

    settings: dict[str, str] = field(default_factory=dict)
    name: str = "Headrace"

    def version(self) -> str:
        return importlib.metadata.version("headrace")

    def prepare(self, data: Path, brokers: int, port: int) -> list[list[str]]:
        command = [str(_executable()), "up", "--port", str(port), "--data", str(data / "data")]
        command += ["--brokers", str(brokers), "--no-gateway", "--metrics-port", str(port + _METRICS_PORT_SHIFT)]
        for name, value in self.settings.items():
            command += ["--set", f"{name}={value}"]
        return [command]

    def broker_pids(self, data: Path, launched: list[int]) -> list[int]:
        found = [int(path.read_text()) for path in sorted(data.glob("data/broker-*/pid"))]
        assert found, f"`headrace up` left no pid file under {data}"
        return found


def missing() -> str | None:
    """What keeps Headrace from running here, in a sentence; None when nothing does."""
    return None if _executable().exists() else "there is no `headrace` beside this Python: run `make install`"


def _executable() -> Path:
    return Path(sys.executable).parent / "headrace"
