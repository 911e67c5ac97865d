"""Hosts in network namespaces of their own, joined by `switch`: links that a test cuts, slows down and makes lossy.

    with Network() as network:
        Cluster(folder, network.hosts)
        network.order(cut(["1"], ["2", "3"]))
        network.heal()

Clients stay in the namespace of the test, as host "clients"; "store" is another address of the same host, for etcd.
Needs root. Nothing has a name that could be left behind: namespaces and devices live as long as a process of ours, and
those end when we do.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from chaos.cluster import Host

# A range that is set aside for measuring network devices: no real host has an address in it. One part of it for each
# process, since another test run may be at work on the same machine.
_PREFIX = f"198.18.{os.getpid() % 250}."
CLIENTS, STORE = "clients", "store"
_OWN_ADDRESSES = {CLIENTS: f"{_PREFIX}100", STORE: f"{_PREFIX}101"}
MTU = 9000

Orders = dict[str, dict[str, float]]


def links(ones: Iterable[str], others: Iterable[str], **quality: float) -> Orders:
    """From each of `ones` to each of `others`, this way only."""
    others = list(others)
    return {f"{one}>{other}": quality for one in ones for other in others if one != other}


def cut(ones: Iterable[str], others: Iterable[str]) -> Orders:
    ones, others = list(ones), list(others)
    return links(ones, others, loss=1) | links(others, ones, loss=1)


def has_namespaces() -> bool:
    return os.geteuid() == 0 and Path("/dev/net/tun").exists()


class Network:
    def __init__(self, brokers: int = 3) -> None:
        self.names = [str(number) for number in range(1, brokers + 1)]
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        self._switch: subprocess.Popen[str] | None = None

    @property
    def everyone(self) -> list[str]:
        return [*self.names, CLIENTS, STORE]

    @property
    def store_address(self) -> str:
        return _OWN_ADDRESSES[STORE]

    @property
    def hosts(self) -> list[Host]:
        return [Host(int(name), _address(name), self._inside(name)) for name in self.names]

    def __enter__(self) -> Self:
        try:
            self._start_switch()
            for name in self.names:
                self._make_host(name)
            _ip("addr", "add", f"{_OWN_ADDRESSES[CLIENTS]}/24", "dev", _device(CLIENTS))
            _ip("addr", "add", f"{_OWN_ADDRESSES[STORE]}/24", "dev", _device(CLIENTS))
            _ip("link", "set", _device(CLIENTS), "mtu", str(MTU), "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for process in (*([self._switch] if self._switch else []), *self._holders.values()):
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)
            if process.stdout is not None:
                process.stdout.close()

    def order(self, orders: Orders) -> None:
        """In place of all earlier orders; holds when this returns."""
        assert self._switch is not None and self._switch.stdin is not None and self._switch.stdout is not None
        self._switch.stdin.write(json.dumps(orders) + "\n")
        self._switch.stdin.flush()
        assert self._switch.stdout.readline() == "done\n", "the switch has ended"

    def heal(self) -> None:
        self.order({})

    def _start_switch(self) -> None:
        words = [f"{name}={_address(name)}={_device(name)}" for name in self.names]
        words += [f"{name}={address}={_device(CLIENTS)}" for name, address in _OWN_ADDRESSES.items()]
        self._switch = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("switch.py")), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._switch.stdout is not None
        assert self._switch.stdout.readline() == "ready\n", "the switch does not start"

    def _make_host(self, name: str) -> None:
        # `cat` keeps the namespace, and ends when we do.
        command = ["unshare", "--net", "sh", "-c", "echo; cat"]
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._holders[name] = holder
        assert holder.stdout is not None
        holder.stdout.readline()
        _ip("link", "set", _device(name), "netns", str(holder.pid))
        for words in (
            ["addr", "add", f"{_address(name)}/24", "dev", _device(name)],
            ["link", "set", _device(name), "mtu", str(MTU), "up"],
            ["link", "set", "lo", "up"],
        ):
            subprocess.run(self._inside(name)(["ip", *words]), check=True)

    def _inside(self, name: str) -> Callable[[list[str]], list[str]]:
        def wrap(command: list[str]) -> list[str]:
            return ["nsenter", f"--net=/proc/{self._holders[name].pid}/ns/net", *command]

        return wrap


def _address(name: str) -> str:
    return f"{_PREFIX}{name}"


def _device(name: str) -> str:
    return f"hr{os.getpid()}{name[:2]}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
