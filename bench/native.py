"""The clients in bench/native: built with gcc against librdkafka, run as processes, their line of JSON read back.

Both peers meet the same binaries, so an old librdkafka slows both alike.
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "native"
CLIENT_DEADLINE_S = 180.0
_HEADER = Path("/usr/include/librdkafka/rdkafka.h")


class ClientError(Exception):
    """A client could not do what the row asks; its own words."""


@dataclass
class Clients:
    """Built binaries in a folder."""

    folder: Path

    def run(self, program: str, options: dict[str, object], properties: dict[str, object]) -> dict[str, Any]:
        return finish(self.start(program, options, properties))

    def start(self, program: str, options: dict[str, object], properties: dict[str, object]) -> "subprocess.Popen[str]":
        words = [str(self.folder / program), *_words(options), "--", *_words(properties)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(client: "subprocess.Popen[str]") -> dict[str, Any]:
    """Waits for a client and returns what it measured."""
    try:
        out, errors = client.communicate(timeout=CLIENT_DEADLINE_S)
    except BaseException:
        client.kill()
        client.communicate()
        raise
    if client.returncode:
        raise ClientError(errors.strip()[-400:] or f"exit code {client.returncode}")
    result: dict[str, Any] = json.loads(out)
    return result


def built(folder: Path) -> Clients:
    """Compiles what is older than its source; installs librdkafka's headers first where that is possible."""
    if not _HEADER.exists():
        _install_headers()
    folder.mkdir(parents=True, exist_ok=True)
    newest_header = max(path.stat().st_mtime for path in SOURCES.glob("*.h"))
    for source in SOURCES.glob("*.c"):
        program = folder / source.stem
        if not program.exists() or program.stat().st_mtime < max(source.stat().st_mtime, newest_header):
            flags = ["-O2", "-Wall", "-Wextra", "-o", str(program)]
            subprocess.run(["gcc", *flags, str(source), "-lrdkafka", "-lpthread"], check=True)
    return Clients(folder)


def _install_headers() -> None:
    wanted = ["librdkafka-dev", "gcc", "libc6-dev"]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise SystemExit(f"the bench's clients need {' '.join(wanted)} (Debian: apt-get install {' '.join(wanted)})")
    subprocess.run(["apt-get", "install", "-y", "-q", *wanted], check=True, stdout=subprocess.DEVNULL)


def _words(values: dict[str, object]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]
