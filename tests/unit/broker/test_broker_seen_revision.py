import logging

import pytest

from headrace.base.errors import UserError
from headrace.base.headed_text import checksum
from headrace.broker.membership.seen_revision import SeenRevision
from sim.disk import SimDisk


class AtOnce:
    """The part of a disk watch that is used here, without threads."""

    async def in_thread(self, work, *args):  # type: ignore[no-untyped-def]
        return work(*args)


def opened(machine: SimDisk) -> SeenRevision:
    return SeenRevision(machine.mount(), "/data", AtOnce())  # type: ignore[arg-type]


@pytest.fixture
def machine() -> SimDisk:
    made = SimDisk()
    made.mount().mkdir("/data")
    return made


def save(seen: SeenRevision, revision: int) -> None:
    with pytest.raises(StopIteration):
        seen.save(revision).send(None)


@pytest.mark.parametrize("revision", [7, 8])
def test_a_store_that_went_on_is_no_news(machine: SimDisk, revision: int) -> None:
    save(opened(machine), 7)
    seen = opened(machine)
    seen.compare(revision)
    assert not seen.store_went_back


def test_a_store_behind_what_was_seen_is_told_until_the_broker_is_registered(
    machine: SimDisk, caplog: pytest.LogCaptureFixture
) -> None:
    save(opened(machine), 7)
    seen = opened(machine)
    with caplog.at_level(logging.ERROR):
        seen.compare(6)
    assert seen.store_went_back
    assert "docs/etcd.md, Restoring" in caplog.text
    seen.on_registered()
    assert not seen.store_went_back


def test_after_the_restore_the_revisions_of_now_count(machine: SimDisk) -> None:
    save(opened(machine), 7)
    save(opened(machine), 5)
    seen = opened(machine)
    seen.compare(5)
    assert not seen.store_went_back


def test_a_file_that_makes_no_sense_tells_nothing(machine: SimDisk) -> None:
    machine.mount().write_atomic("/data/metadata-revision", b"\x00\xff")
    seen = opened(machine)
    seen.compare(1)
    assert not seen.store_went_back


def test_a_file_of_a_newer_format_is_refused(machine: SimDisk) -> None:
    head = b"headrace-metadata-revision 2 7"
    machine.mount().write_atomic("/data/metadata-revision", head + b" crc32c=%08x\n" % checksum(head, b""))
    with pytest.raises(UserError, match="has format 2"):
        opened(machine)
