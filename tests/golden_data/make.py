"""Makes a golden data directory: a broker of some release is filled, and its files are kept with what clients saw of them.

    python -m tests.golden_data.make              of the working tree
    python -m tests.golden_data.make ac579a7      of a commit or tag

The archive, data-VERSION-COMMIT.tar.xz beside this file, holds two data roots, `clean` (after a clean stop) and `killed`
(after kill -9), and the JSON of what was in each. Make one for every release and change none: `test_golden_data` opens all.
"""

import io
import json
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos.cluster import Child
from chaos.releases import CHECKOUT, TODAY, sources_of
from cluster_view import View, view_of
from golden_data.fill import Filler
from headrace.cli.run.ports import free_port
from headrace.cli.run.serve_options import ServeOptions

HERE = Path(__file__).resolve().parent
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "100",
}
# What says nothing about data: the names of processes, and room that is kept free.
LEFT_OUT = ("pid", "lock", "spare-room", "disk-watch")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        name, sources = release(sys.argv[1:], Path(folder))
        keep(f"data-{name}.tar.xz", made(Path(folder) / "data", sources))


def release(words: list[str], folder: Path) -> tuple[str, Path]:
    """VERSION-COMMIT of the commit that is named, or of the working tree, and where its sources are."""
    commit = words[0] if words else "HEAD"
    short = subprocess.check_output(["git", "rev-parse", "--short=7", commit], cwd=CHECKOUT, text=True).strip()
    sources = sources_of(commit, folder / "release") if words else TODAY
    version = re.search(r'__version__ = "(.*)"', (sources / "headrace" / "__init__.py").read_text())
    assert version is not None
    return f"{version[1]}-{short}", sources


def keep(name: str, content: bytes) -> None:
    (HERE / name).write_bytes(content)
    print(f"{HERE / name}: {len(content)} bytes")


def broker_of(sources: Path, data: Path) -> Child:
    return Child(
        ServeOptions(port=free_port("127.0.0.1"), metrics_port=0, data=str(data), settings=SETTINGS),
        lambda command: ["env", f"PYTHONPATH={sources}", *command],
    )


def made(data: Path, sources: Path) -> bytes:
    broker = broker_of(sources, data)
    whole = io.BytesIO()
    try:
        with tarfile.open(fileobj=whole, mode="w") as tar:
            filler = Filler(started(broker))
            filler.fill()
            filler.fill_newer()
            filler.begin_to_transact()
            _keep(tar, "clean", data, view_of(filler.bootstrap), broker.stop)
            started(broker)
            filler.more(b"after the clean stop")
            _keep(tar, "killed", data, view_of(filler.bootstrap), broker.kill)
            filler.forget_open()
    finally:
        broker.kill()
    return lzma.compress(whole.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def started(broker: Child) -> str:
    broker.start()
    broker.until_ready(600)
    return f"127.0.0.1:{broker.options.port}"


def _keep(tar: tarfile.TarFile, name: str, data: Path, seen: View, end: object) -> None:
    assert callable(end)
    end()
    text = json.dumps(seen, indent=1).encode()
    about = tarfile.TarInfo(f"{name}.json")
    about.size = len(text)
    tar.addfile(about, io.BytesIO(text))
    for path in sorted(data.rglob("*")):
        if path.is_file() and path.name not in LEFT_OUT:
            info = tarfile.TarInfo(f"{name}/{path.relative_to(data)}")
            content = path.read_bytes()
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    main()
