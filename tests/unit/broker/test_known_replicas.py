"""The list of replicas that were opened on this disk: it outlives crashes, and says nothing that it does not know."""

import pytest

from headrace.base.errors import UserError
from headrace.base.headed_text import checksum
from headrace.base.ids import TopicPartition
from headrace.broker.disk import known_replicas
from headrace.broker.disk.known_replicas import KnownReplicas
from sim.disk import SimDisk

ONE, TWO, THREE = (TopicPartition("topic-id", number) for number in (1, 2, 3))


@pytest.fixture
def machine() -> SimDisk:
    machine = SimDisk()
    machine.mount().mkdir("/data")
    return machine


def known(machine: SimDisk) -> KnownReplicas:
    return KnownReplicas(machine.mount(), "/data")


def add(replicas: KnownReplicas, *names: TopicPartition) -> None:
    write = replicas.add(names)
    assert write is not None
    write()


def test_what_was_added_is_known_to_the_next_life(machine: SimDisk) -> None:
    replicas = known(machine)
    add(replicas, ONE)
    add(replicas, TWO)
    assert replicas.add([ONE, TWO]) is None
    assert [each in known(machine) for each in (ONE, TWO, THREE)] == [True, True, False]


def test_a_torn_line_says_nothing_and_spoils_no_other(machine: SimDisk) -> None:
    add(known(machine), ONE, TWO)
    file = machine.mount().open("/data/replicas")
    file.truncate(file.size - 1)
    torn = known(machine)
    assert (ONE in torn, TWO in torn) == (True, False)
    add(torn, THREE)
    assert [each in known(machine) for each in (ONE, TWO, THREE)] == [True, False, True]


def test_a_damaged_file_is_written_anew(machine: SimDisk) -> None:
    machine.mount().write_atomic("/data/replicas", b"\xff\x00 nonsense\n")
    add(known(machine), ONE)
    assert machine.mount().read("/data/replicas") == b"headrace-replicas 1\ntopic-id 1\n"


def test_a_file_without_its_format_is_believed_and_written_anew(machine: SimDisk) -> None:
    machine.mount().write_atomic("/data/replicas", b"topic-id 1\n")
    replicas = known(machine)
    assert ONE in replicas
    add(replicas, TWO)
    assert machine.mount().read("/data/replicas") == b"headrace-replicas 1\ntopic-id 1\ntopic-id 2\n"


def test_a_newer_format_is_refused(machine: SimDisk) -> None:
    head, body = b"headrace-replicas 2", b"topic-id 1 since=7\n"
    machine.mount().write_atomic("/data/replicas", head + b" crc32c=%08x\n" % checksum(head, body) + body)
    with pytest.raises(UserError, match=r"/data/replicas .* has format 2"):
        known(machine)


def test_what_did_not_fit_on_a_full_disk_is_written_with_the_next(machine: SimDisk) -> None:
    replicas = known(machine)
    add(replicas, ONE)
    machine.capacity_bytes = machine.used_bytes()
    add(replicas, TWO)
    machine.capacity_bytes = None
    add(replicas, THREE)
    assert [each in known(machine) for each in (ONE, TWO, THREE)] == [True, True, True]


def test_lines_of_what_is_gone_do_not_pile_up(machine: SimDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_replicas, "DEAD_LINES_MAX", 2)
    replicas = known(machine)
    for number in range(20):
        add(replicas, TopicPartition("passing", number))
        replicas.forget(TopicPartition("passing", number))
    assert machine.mount().read("/data/replicas").count(b"\n") <= 1 + 4
