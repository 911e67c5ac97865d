"""Ports for brokers that are not started yet: each is given once, and stays free for whoever it was given to."""

import socket
import subprocess
import sys

import pytest

from headrace.cli.run.ports import free_port, is_free
from headrace.testing import Broker

HOST = "127.0.0.1"
PROCESSES, PORTS_EACH = 3, 400
PROGRAM = f"""
import sys
from headrace.cli.run.ports import free_port
print(*(free_port("{HOST}") for _ in range({PORTS_EACH})), flush=True)
sys.stdin.read()
"""

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a bound port cannot be listened on")


@only_linux
def test_processes_that_choose_at_the_same_time_choose_differently() -> None:
    choosing = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    given = [int(port) for each in choosing for port in each.stdout.readline().split()]
    for each in choosing:
        each.communicate()
    assert len(given) == len(set(given)) == PROCESSES * PORTS_EACH


def test_a_given_port_can_be_listened_on_again_and_again() -> None:
    port = free_port(HOST)
    for _ in range(3):
        assert is_free(HOST, port)
        with socket.create_server((HOST, port)), socket.create_connection((HOST, port)):
            assert not is_free(HOST, port)


def test_ports_in_a_row() -> None:
    first = free_port(HOST, 4)
    servers = [socket.create_server((HOST, first + number)) for number in range(4)]
    for each in servers:
        each.close()


@only_linux
def test_a_broker_keeps_its_ports_until_it_is_closed() -> None:
    broker = Broker()
    ports = broker.port, broker.metrics_port
    assert not any(map(_can_be_had_alone, ports))
    broker.close()
    assert all(map(_can_be_had_alone, ports))


def _can_be_had_alone(port: int) -> bool:
    with socket.socket() as alone:
        try:
            alone.bind((HOST, port))
        except OSError:
            return False
        return True
