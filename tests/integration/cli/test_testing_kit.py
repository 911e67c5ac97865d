"""headrace.testing as a user's project would use it."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.base.errors import UserError
from headrace.testing import Broker


def send(broker: Broker, topic: str, value: bytes) -> None:
    failures = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": "all"})
    producer.produce(topic, value, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(60) == 0
    assert failures == []


def read_one(broker: Broker, topic: str) -> bytes:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(60)
    consumer.close()
    assert message is not None and message.error() is None
    return message.value()


@pytest.mark.parametrize("in_process", [False, True], ids=["child", "in process"])
def test_a_broker_for_a_test(in_process: bool) -> None:
    with Broker(in_process=in_process, num_partitions=1) as broker:
        assert (broker.pid == os.getpid()) is in_process
        send(broker, "t", b"one")
        assert read_one(broker, "t") == b"one"
        before = broker.port
        broker.restart()
        assert (broker.port, broker.running) == (before, True)
        assert read_one(broker, "t") == b"one"
        data = broker.data
    assert not broker.running
    assert not data.exists()


def test_kill_and_start_again() -> None:
    with Broker({"num.partitions": 1}) as broker:
        send(broker, "t", b"acknowledged")
        pid = broker.pid
        broker.kill()
        assert not broker.running
        broker.start()
        assert broker.pid != pid
        assert read_one(broker, "t") == b"acknowledged"


def test_own_directory_is_kept(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        send(broker, "t", b"kept")
    with Broker(data=tmp_path) as broker:
        assert read_one(broker, "t") == b"kept"


@pytest.mark.parametrize("in_process", [False, True], ids=["child", "in process"])
def test_a_broker_that_cannot_start_says_why(in_process: bool, tmp_path: Path) -> None:
    with Broker(data=tmp_path), pytest.raises(UserError, match="in use"), Broker(data=tmp_path, in_process=in_process):
        raise AssertionError("two brokers on one directory")
    with pytest.raises(UserError, match=r"num\.partitions"), Broker(in_process=in_process, num_partitions="many"):
        raise AssertionError("started with a wrong setting")


def test_in_process_cannot_be_killed() -> None:
    with Broker(in_process=True) as broker, pytest.raises(UserError, match="in_process"):
        broker.kill()


def test_a_child_dies_with_its_killed_parent(tmp_path: Path) -> None:
    program = (
        "import os, signal; from headrace.testing import Broker; "
        "print(Broker(data=os.environ['D']).start().pid, flush=True); signal.pause()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "D": str(tmp_path)}
    )
    pid = int(parent.stdout.readline())
    descriptor = os.pidfd_open(pid)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    import select

    assert select.select([descriptor], [], [], 60)[0], "the broker lives on"
    os.close(descriptor)


def test_fixtures_in_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        textwrap.dedent(
            """
            from confluent_kafka import Producer

            seen = set()

            def test_one(headrace_broker, headrace_topic):
                producer = Producer({"bootstrap.servers": headrace_broker.bootstrap})
                producer.produce(headrace_topic, b"hello")
                assert producer.flush(60) == 0
                seen.add((headrace_broker.port, headrace_topic))

            def test_two(headrace_broker, headrace_topic):
                [(port, topic)] = seen
                assert headrace_broker.port == port
                assert headrace_topic != topic
                assert headrace_topic.startswith("test_two-")
            """
        )
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout.decode()


def test_the_plugin_costs_nothing_until_it_is_used() -> None:
    program = (
        "import pytest, sys; before = set(sys.modules); import headrace.testing.plugin; "
        "print(*sorted(m for m in set(sys.modules) - before if not m.startswith('headrace')))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
