"""A real etcd of one or more members on loopback, for tests: started, killed, stopped, compacted.

with EtcdCluster(folder, size=3) as etcd:
    EtcdStore.open(etcd.url("/some-prefix"))
    etcd.kill(etcd.leader())
"""

import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventually import until
from headrace.cli.run.ports import free_port

LOOPBACK = "127.0.0.1"
READY_SECONDS_MAX = 60.0


class MissingEtcd(Exception):
    """Not installed on this machine."""


@dataclass
class Member:
    name: str
    folder: Path
    client_port: int
    peer_port: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None


class EtcdCluster:
    def __init__(
        self,
        folder: Path,
        size: int = 1,
        *,
        scheme: str = "http",
        arguments: tuple[str, ...] = (),
        host: str = LOOPBACK,
    ) -> None:
        """`arguments` go to every member; with `scheme` https they must name the certificates.

        `host` is where clients find them; members talk to each other on loopback.
        """
        if shutil.which("etcd") is None:
            raise MissingEtcd("etcd is missing. Fix: apt-get install etcd-server")
        self.scheme = scheme
        self.host = host
        self.members = [
            Member(f"m{n}", folder / f"m{n}", free_port(LOOPBACK), free_port(LOOPBACK)) for n in range(size)
        ]
        self._arguments = arguments

    def __enter__(self) -> "EtcdCluster":
        try:
            for index in range(len(self.members)):
                self.start(index)
            self.until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def url(self, prefix: str = "/headrace", user: str = "") -> str:
        hosts = ",".join(f"{self.host}:{member.client_port}" for member in self.members)
        return f"etcd{'s' if self.scheme == 'https' else ''}://{user}{hosts}{prefix}"

    def start(self, index: int) -> None:
        """For the first time, or again after a kill, with the data it had."""
        member = self.members[index]
        member.folder.mkdir(parents=True, exist_ok=True)
        with open(member.folder / "etcd.log", "ab") as log:
            member.process = subprocess.Popen(
                self._command(member), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment()
            )

    def kill(self, index: int) -> None:
        self._signal(index, signal.SIGKILL)
        process = self.members[index].process
        assert process is not None
        process.wait()

    def pause(self, index: int) -> None:
        self._signal(index, signal.SIGSTOP)

    def resume(self, index: int) -> None:
        self._signal(index, signal.SIGCONT)

    def stop(self) -> None:
        for index, member in enumerate(self.members):
            if member.is_running:
                self.kill(index)

    def until_ready(self) -> None:
        """Every member that runs knows a leader."""
        until(
            lambda: all(self._knows_leader(index) for index, member in enumerate(self.members) if member.is_running),
            seconds=READY_SECONDS_MAX,
            otherwise=f"etcd is not ready: see {self.members[0].folder}/etcd.log",
        )

    def leader(self) -> int:
        """Of now, or of soon: on a busy machine they elect another now and then."""
        return until(self._leaders, otherwise="no member that runs is the leader")[0]

    def _leaders(self) -> list[int]:
        running = [index for index, member in enumerate(self.members) if member.is_running]
        said = {index: self.ask(index, "/v3/maintenance/status", {}) for index in running}
        return [index for index, status in said.items() if status.get("leader") == status["header"]["member_id"]]

    def compact(self) -> None:
        """Forget all history before this moment, of every prefix."""
        member = next(index for index, member in enumerate(self.members) if member.is_running)
        revision = self.ask(member, "/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        self.ask(member, "/v3/kv/compaction", {"revision": revision, "physical": True})

    def ask(self, index: int, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
        address = f"{self.scheme}://{self.host}:{self.members[index].client_port}{path}"
        headers = {"Authorization": token} if token else {}
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=10) as reply:
            answer: dict[str, Any] = json.load(reply)
        return answer

    def _knows_leader(self, index: int) -> bool:
        if self.scheme == "https":
            # The certificate is for the store to check; here it is enough that someone listens.
            with socket.socket() as probe:
                return probe.connect_ex((self.host, self.members[index].client_port)) == 0
        try:
            return int(self.ask(index, "/v3/maintenance/status", {}).get("leader", 0)) != 0
        except OSError:
            return False

    def _signal(self, index: int, number: int) -> None:
        process = self.members[index].process
        assert process is not None
        os.kill(process.pid, number)

    def _command(self, member: Member) -> list[str]:
        client, peer = f"{self.scheme}://{self.host}:{member.client_port}", f"http://127.0.0.1:{member.peer_port}"
        options = {
            "name": member.name,
            "data-dir": member.folder / "data",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": ",".join(f"{each.name}=http://127.0.0.1:{each.peer_port}" for each in self.members),
            "logger": "zap",
            # Half of the defaults: elections end sooner, and a lease of 1 s is allowed.
            "heartbeat-interval": 50,
            "election-timeout": 500,
        }
        return ["etcd", *(f"--{name}={value}" for name, value in options.items()), *self._arguments]


def _environment() -> dict[str, str]:
    """etcd also reads ETCD_… from its environment; only what is meant for it may get there."""
    machine = {"aarch64": "arm64"}.get(platform.machine())
    return {"PATH": os.environ["PATH"], **({"ETCD_UNSUPPORTED_ARCH": machine} if machine else {})}
