"""A Go that is new enough for franz-go, where the one of the distribution is not.

Go publishes its toolchains as modules. From 1.21 the go command fetches the one that go.mod names by itself; an older
one (Debian 12 has 1.19) can still download the module, but leaves its programs without the right to be run.
"""

import json
import platform
import re
import subprocess
from pathlib import Path

FETCHES_BY_ITSELF = (1, 21)
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def go_command(go_mod: Path) -> list[str]:
    if _installed() >= FETCHES_BY_ITSELF:
        # Debian builds its go with fetching turned off.
        return ["env", "GOTOOLCHAIN=auto", "go"]
    root = _download(re.search(r"^go (\S+)$", go_mod.read_text(), re.MULTILINE)[1])
    for program in [*root.glob("bin/*"), *root.glob("pkg/tool/*/*")]:
        program.chmod(0o755)
    return ["env", f"GOROOT={root}", str(root / "bin" / "go")]


def _installed() -> tuple[int, int]:
    version = subprocess.run(["go", "version"], capture_output=True, text=True, check=True).stdout
    major, minor = re.search(r"go(\d+)\.(\d+)", version).groups()
    return int(major), int(minor)


def _download(version: str) -> Path:
    target = f"go{version}.linux-{ARCHITECTURES[platform.machine()]}"
    # From the root folder: in ours the old go would stumble over a go.mod that it cannot read.
    done = subprocess.run(
        ["go", "mod", "download", "-json", f"golang.org/toolchain@v0.0.1-{target}"],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{target} could not be downloaded: {done.stdout}{done.stderr}")
    return Path(json.loads(done.stdout)["Dir"])
