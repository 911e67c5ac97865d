"""Each extra alone in a clean environment, from the index: everything that it is for can be imported, and a broker runs."""

import sys
from pathlib import Path

import pytest
from test_wheel import check_broker
from venv_here import ROOT, Venv

sys.path.append(str(ROOT / "tests" / "tidy"))
from imports import modules
from test_extras import extras_of

INSTALL_SECONDS = 1800
IMPORT_SECONDS = 300
PROGRAM = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
# Importing one of these starts something, or asks for arguments.
RUN_AS_PROGRAMS = ("__main__",)


@pytest.fixture
def venv(wheel: Path, tmp_path: Path) -> Venv:
    return Venv(tmp_path / "venv")


def install(venv: Venv, wheel: Path, extra: str) -> None:
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    venv.install("-c", str(ROOT / "constraints.txt"), wanted, seconds=INSTALL_SECONDS)


@pytest.mark.long
@pytest.mark.parametrize("extra", ["", "client", "avro", "etcd", "secure", "traces", "gateway", "spark"])
def test_an_extra_alone_brings_all_it_is_for(venv: Venv, wheel: Path, extra: str) -> None:
    install(venv, wheel, extra)
    wanted = {"", extra} | ({"client"} if extra in ("gateway", "spark") else set())
    names = [name for name in modules() if set(extras_of(name)) <= wanted and not name.endswith(RUN_AS_PROGRAMS)]
    ran = venv.run([venv.python, "-c", PROGRAM, *names], seconds=IMPORT_SECONDS)
    assert ran.returncode == 0, ran.stderr
    assert len(names) > 200


@pytest.mark.long
def test_a_broker_from_a_clean_environment_serves_a_client_of_the_same(venv: Venv, wheel: Path, tmp_path: Path) -> None:
    install(venv, wheel, "client")
    check_broker(venv, tmp_path / "data")


@pytest.mark.long
def test_without_extras_a_broker_serves_and_says_what_is_missing(venv: Venv, wheel: Path, tmp_path: Path) -> None:
    install(venv, wheel, "")
    file = tmp_path / "headrace.toml"
    file.write_text("[serve]\nport = 9192\n[gateway]\nprot = 1\n")
    checked = venv.run([venv.headrace, "config", "check", str(file)])
    assert (checked.returncode, "[gateway] was not looked at" in checked.stderr) == (0, True)
    refused = venv.run([venv.headrace, "topic", "list"])
    assert refused.returncode == 1
    assert "pip install 'headrace[client]'" in refused.stderr
    assert venv.run([venv.headrace, "doctor", "--data", str(venv.folder / "data")]).stderr == ""
