"""A fresh virtual environment with the wheel in it, and nothing of this checkout."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
OURS = ("PYTHONPATH", "PYTHONHOME", "HEADRACE_BOOTSTRAP")
SECONDS = 120


class Venv:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def headrace(self) -> str:
        return str(self.folder / "bin" / "headrace")

    def install(self, *words: str, seconds: float = SECONDS) -> None:
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", "-q", "install"]
        done = self.run([*pip, *words], seconds=seconds)
        assert done.returncode == 0, done.stderr

    def lend_libraries(self) -> None:
        """What the wheel needs is taken from where the tests run; Headrace itself is not, a path file names no other."""
        (packages,) = {path for path in sys.path if path.endswith("site-packages")}
        (own,) = self.folder.glob("lib/python3*/site-packages")
        (own / "lent.pth").write_text(f"{packages}\n")

    def run(
        self, command: Sequence[str], stdin: str = "", seconds: float = SECONDS
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            timeout=seconds,
            check=False,
        )

    @property
    def environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name not in OURS}

    def json(self, *words: str, stdin: str = "") -> Any:
        done = self.run([self.headrace, *words], stdin)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
