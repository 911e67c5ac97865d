"""Puts what the tests drive on this machine: kcat, Java, Maven, Go, Rust, etcd, Chromium, the jars and the client programs.

As root on Debian a missing program is installed; elsewhere the command to install it is printed and nothing is changed.
It never fails by itself: a test whose tool is missing skips, and under CI=true a skip fails (tests/conftest.py).
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Program:
    command: str
    package: str
    purpose: str


PROGRAMS = (
    Program("kcat", "kcat", "the kcat client"),
    # javac, not java: the Java client program is compiled here.
    Program("javac", "openjdk-17-jdk-headless", "the Java client and Kafka's console tools"),
    Program("mvn", "maven", "fetching Kafka's jars"),
    Program("go", "golang-go", "the franz-go client"),
    # Debian's plain cargo is from before rskafka; this one follows what browsers need.
    Program("cargo", "cargo-web", "the program on rskafka"),
    Program("etcd", "etcd-server", "the metadata store of many hosts"),
    Program("systemd-analyze", "systemd", "the check of the systemd units"),
    Program("chromium", "chromium", "the browser that walks through the UI"),
)


def missing_programs() -> list[Program]:
    return [program for program in PROGRAMS if shutil.which(program.command) is None]


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(programs: list[Program]) -> None:
    packages = [program.package for program in programs]
    print(f"Installing {' '.join(packages)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", *arguments], env=environment, stdout=subprocess.DEVNULL, check=False)


def report(programs: list[Program]) -> None:
    for program in programs:
        print(
            f"Missing: {program.command}, for {program.purpose}. Fix: apt-get install {program.package}",
            file=sys.stderr,
        )
    if programs:
        print("Tests that need a missing tool will be skipped (under CI=true they fail).", file=sys.stderr)


def main() -> None:
    missing = missing_programs()
    if missing and can_install():
        install(missing)
        missing = missing_programs()
    report(missing)
    # Here and not only in a fixture: a first download can outlast a test's own time limit.
    subprocess.run([sys.executable, CHECKOUT / "tests" / "clients" / "build.py"], check=False)


if __name__ == "__main__":
    main()
