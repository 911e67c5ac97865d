"""A network of a few hosts as one program: every packet passes here, and a link does to it what the test last ordered.

    python switch.py HOST=ADDRESS=DEVICE …

Each host has a tun device; the program that started this one moves the devices into the hosts' network namespaces. Orders
come as lines of JSON on the standard input and are answered with a line once they hold:

    {"1>2": {"loss": 1}, "2>1": {"delay": 0.1, "jitter": 0.03, "loss": 0.05, "bytes_per_second": 125000}}

A link that an order does not name is a good one. It ends, and the devices with it, when the standard input does, so it
never outlives its parent. (The kernel of a test machine need not have netem; every kernel has tun.)
"""

import fcntl
import heapq
import json
import os
import random
import selectors
import socket
import struct
import sys
import time
from dataclasses import dataclass

_TUNSETIFF = 0x400454CA
_IFF_TUN_NO_PI = 0x0001 | 0x1000
_PACKET_BYTES_MAX = 65536
_PACKETS_PER_TURN = 64
# What a router would hold before it drops: more would only make a slow link slower.
_QUEUE_SECONDS_MAX = 1.0


@dataclass
class Link:
    loss: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    bytes_per_second: float = 0.0
    free_at: float = 0.0

    def arrival(self, size: int, now: float, rng: random.Random) -> float | None:
        """When a packet that enters now comes out; None when it never does."""
        if self.loss and rng.random() < self.loss:
            return None
        leaves = now
        if self.bytes_per_second:
            leaves = max(now, self.free_at) + size / self.bytes_per_second
            if leaves - now > _QUEUE_SECONDS_MAX:
                return None
            self.free_at = leaves
        return leaves + self.delay + (rng.uniform(-self.jitter, self.jitter) if self.jitter else 0.0)


class Switch:
    def __init__(self, hosts: list[tuple[str, str, str]]) -> None:
        self._rng = random.Random(1)
        self._selector = selectors.DefaultSelector()
        self._device_of: dict[bytes, int] = {}
        self._host_of: dict[bytes, str] = {}
        self._links: dict[tuple[bytes, bytes], Link] = {}
        self._late: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        devices: dict[str, int] = {}
        for host, address, device in hosts:
            packed = socket.inet_aton(address)
            if device not in devices:
                devices[device] = _open_device(device)
                self._selector.register(devices[device], selectors.EVENT_READ)
            self._device_of[packed] = devices[device]
            self._host_of[packed] = host
        os.set_blocking(sys.stdin.fileno(), False)
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        self._orders = b""

    def run(self) -> None:
        print("ready", flush=True)
        while True:
            for key, _ in self._selector.select(self._until_next()):
                if key.fd != sys.stdin.fileno():
                    self._receive(key.fd)
                elif not self._read_orders():
                    return
            self._deliver_late()

    def _until_next(self) -> float | None:
        return max(0.0, self._late[0][0] - time.monotonic()) if self._late else None

    def _receive(self, device: int) -> None:
        for _ in range(_PACKETS_PER_TURN):
            try:
                packet = os.read(device, _PACKET_BYTES_MAX)
            except BlockingIOError:
                return
            if packet[0] >> 4 == 4:
                self._forward(packet)

    def _forward(self, packet: bytes) -> None:
        source, target = packet[12:16], packet[16:20]
        device = self._device_of.get(target)
        if device is None:
            return
        link = self._links.get((source, target))
        if link is None:
            _send(device, packet)
            return
        arrival = link.arrival(len(packet), time.monotonic(), self._rng)
        if arrival is not None:
            self._count += 1
            heapq.heappush(self._late, (arrival, self._count, device, packet))

    def _deliver_late(self) -> None:
        now = time.monotonic()
        while self._late and self._late[0][0] <= now:
            _, _, device, packet = heapq.heappop(self._late)
            _send(device, packet)

    def _read_orders(self) -> bool:
        chunk = os.read(sys.stdin.fileno(), 65536)
        *lines, self._orders = (self._orders + chunk).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))
            print("done", flush=True)
        return bool(chunk)

    def _obey(self, orders: dict[str, dict[str, float]]) -> None:
        addresses = [(host, address) for address, host in self._host_of.items()]
        self._links = {
            (source, target): Link(**orders[f"{one}>{other}"])
            for one, source in addresses
            for other, target in addresses
            if f"{one}>{other}" in orders
        }


def _open_device(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH14x", name.encode(), _IFF_TUN_NO_PI))
    return device


def _send(device: int, packet: bytes) -> None:
    try:
        os.write(device, packet)
    except OSError:
        # The device is not up yet, or its queue is full: packets get lost.
        pass


if __name__ == "__main__":
    Switch([tuple(word.split("=")) for word in sys.argv[1:]]).run()  # type: ignore[misc]
