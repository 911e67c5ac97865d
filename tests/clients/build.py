"""Fetches jars and Python packages, and builds the Java, Go and Rust programs, once, into a cache outside the checkout.

A build is keyed by the content of its sources and appears in the cache by one rename, so that two runs at the same time
and a run that was cut off do no harm. `python tests/clients/build.py` builds all of them ahead of the tests.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from clients.go_toolchain import go_command  # noqa: E402  (this file is also run as a script)


class MissingTool(Exception):
    """A program that is needed is not on this machine; the message says which and how to get it."""


def java_classpath(folder: Path = HERE / "java") -> str:
    """The jars that a folder's pom.xml names and the compiled programs of the folder, for `java -cp`."""
    pom, programs = folder / "pom.xml", sorted(folder.glob("*.java"))
    jars = _built("jars", [pom], lambda out: _fetch_jars(pom, out))
    sources = [pom, HERE / "java" / "log4j2.xml", *programs]
    classes = _built(folder.name, sources, lambda out: _compile(jars, programs, out))
    return os.pathsep.join([str(classes), f"{jars}{os.sep}*"])


def franz_go() -> Path:
    return go_program(HERE / "go")


def go_program(folder: Path) -> Path:
    """The compiled Go module of a folder."""
    sources = [*sorted(folder.glob("*.go")), folder / "go.mod", folder / "go.sum"]
    return _built(folder.name, sources, lambda out: _build_go(folder, out)) / folder.name


def cargo_program(folder: Path) -> Path:
    """The compiled crate of a folder."""
    sources = [folder / "Cargo.toml", *sorted(folder.glob("src/*.rs"))]
    return _built(folder.name, sources, lambda out: _build_crate(folder, out)) / folder.name


def python_environment(folder: Path) -> Path:
    """A Python with the packages of a folder's requirements.txt and no others: they may not fit those of this checkout."""
    requirements = folder / "requirements.txt"
    name = f"{folder.name}-python{sys.version_info.major}.{sys.version_info.minor}"
    return _built(name, [requirements], lambda out: _install(requirements, out)) / "bin" / "python"


def _fetch_jars(pom: Path, out: Path) -> None:
    _need("mvn", "maven")
    _run(["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={out}"], cwd=out)


def _compile(jars: Path, programs: list[Path], out: Path) -> None:
    shutil.copy(HERE / "java" / "log4j2.xml", out)
    if programs:
        _need("javac", "openjdk-17-jdk-headless")
        _run(["javac", "-cp", f"{jars}{os.sep}*", "-d", str(out), *map(str, programs)], cwd=out)


def _build_go(folder: Path, out: Path) -> None:
    _need("go", "golang-go")
    _run([*go_command(folder / "go.mod"), "build", "-o", str(out / folder.name), "."], cwd=folder)


def _build_crate(folder: Path, out: Path) -> None:
    _need("cargo", "cargo-web")
    # In a copy: cargo leaves a lock file and objects beside the sources.
    with tempfile.TemporaryDirectory() as temporary:
        crate = shutil.copytree(folder, Path(temporary) / folder.name)
        _run(["cargo", "build", "--quiet", "--target-dir", "target"], cwd=crate)
        shutil.copy(crate / "target" / "debug" / folder.name, out)


def _install(requirements: Path, out: Path) -> None:
    _run([sys.executable, "-m", "venv", str(out)], cwd=out)
    _run([str(out / "bin" / "python"), "-m", "pip", "install", "-q", "-r", str(requirements)], cwd=out)


def _built(name: str, sources: list[Path], build: Callable[[Path], None]) -> Path:
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    done = _cache() / f"{name}-{digest}"
    if not done.exists():
        print(f"Building {name} for the client tests into {done} (once)", file=sys.stderr, flush=True)
        partial = Path(tempfile.mkdtemp(dir=_cache(), prefix=f"{name}-partial-"))
        try:
            build(partial)
            partial.rename(done)
        except OSError:
            # Another run was first, and its result is as good.
            if not done.exists():
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return done


def _cache() -> Path:
    chosen = os.environ.get("HEADRACE_CACHE")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(chosen) if chosen else user / "headrace"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def _need(program: str, package: str) -> None:
    if shutil.which(program) is None:
        raise MissingTool(f"{program} is missing. Fix: apt-get install {package}, or `make test` as root on Debian")


def _run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed with exit code {done.returncode}:\n{done.stdout}")


def main() -> int:
    failed = 0
    modules = [HERE.parent / "ecosystem" / "sarama", HERE.parent / "deploy" / "deploy_lint"]
    for build in (java_classpath, franz_go, *(partial(go_program, module) for module in modules)):
        try:
            build()
        except (MissingTool, RuntimeError) as error:
            failed = 1
            print(error, file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
