"""What `python -m build` makes: every file of the package, its promises as metadata, and a broker that runs from it."""

import email
import json
import os
import select
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from venv_here import SECONDS, Venv

from headrace import __version__
from headrace.cli.run.ports import free_port

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOST = "127.0.0.1"


def package_files() -> set[str]:
    """Of the packages, whatever they are: a new script or style sheet of the UI has to come along too."""
    source = ROOT / "src"
    paths = [path.relative_to(source) for path in source.rglob("*") if path.is_file()]
    return {str(path) for path in paths if "__pycache__" not in path.parts and not path.parts[0].endswith(".egg-info")}


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == package_files()
    assert "headrace/py.typed" in names and "headrace/gateway/ui/theme.css" in names


def test_the_sdist_has_what_a_build_needs(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {f"src/{name}" for name in package_files()} | {"pyproject.toml", "README.md", "LICENSE"}


def test_the_wheel_says_what_pyproject_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (about,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = email.message_from_bytes(archive.read(about))
        entry_points = archive.read(about.replace("METADATA", "entry_points.txt")).decode()
    assert (told["Name"], told["Version"], told["Requires-Python"]) == ("headrace", __version__, ">=3.11")
    assert set(told.get_all("Provides-Extra")) == PROJECT["optional-dependencies"].keys()
    base = {str(Requirement(each)) for each in PROJECT["dependencies"]}
    assert {str(Requirement(each)) for each in told.get_all("Requires-Dist") if "extra ==" not in each} == base
    assert "headrace = headrace.cli:main" in entry_points and "[pytest11]" in entry_points


def test_a_broker_runs_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    venv = Venv(tmp_path / "venv")
    venv.install("--no-deps", "--no-index", str(wheel))
    venv.lend_libraries()
    assert venv.run([venv.headrace, "--version"]).stdout == f"headrace {__version__}\n"
    where = venv.run([venv.python, "-c", "import headrace; print(headrace.__file__)"]).stdout
    assert where.startswith(str(venv.folder))
    check_broker(venv, tmp_path / "data")


def check_broker(venv: Venv, data: Path) -> None:
    """It serves, stores and gives back, and stops."""
    port = free_port(HOST)
    ready, told = os.pipe()
    words = [f"--port={port}", "--metrics-port=0", f"--data={data}", f"--ready-fd={told}"]
    broker = subprocess.Popen([venv.headrace, "serve", *words], pass_fds=[told], cwd=venv.folder, env=venv.environment)
    os.close(told)
    try:
        assert select.select([ready], [], [], SECONDS)[0], "the broker did not start in time"
        assert json.loads(os.read(ready, 4096))["status"] == "ready"
        where = f"--bootstrap={HOST}:{port}"
        produced = venv.run([venv.headrace, "produce", "orders", where], "one\ntwo\n")
        assert produced.returncode == 0, produced.stderr
        consumed = venv.run([venv.headrace, "consume", "orders", where, "--from", "earliest", "--until-end"])
        assert sorted(consumed.stdout.split()) == ["one", "two"], consumed.stderr
        broker.terminate()
        assert broker.wait(SECONDS) == 0
    finally:
        os.close(ready)
        broker.kill()
        broker.wait()


@pytest.mark.parametrize(
    ("library", "program", "fix"),
    [
        ("confluent_kafka", "import headrace; headrace.connect", "pip install 'headrace[client]'"),
        ("confluent_kafka", "import headrace; headrace.aio", "pip install 'headrace[client]'"),
        (
            "confluent_kafka",
            "from headrace.cli.app import run; run(['produce', 'x'])",
            "pip install 'headrace[client]'",
        ),
        ("fastapi", "from headrace.cli.app import run; run(['gateway'])", "pip install 'headrace[gateway]'"),
    ],
)
def test_what_an_extra_lacks_is_told_with_the_fix(library: str, program: str, fix: str) -> None:
    missing = f"import sys; sys.modules[{library!r}] = None; {program}"
    ran = subprocess.run([sys.executable, "-c", missing], capture_output=True, text=True, check=False)
    assert fix in ran.stderr.strip().splitlines()[-1], ran.stderr
