"""One file of offsets per broker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import UserError
from headrace.base.headed_text import checksum
from headrace.base.ids import TopicPartition
from headrace.log.checkpoint import Checkpoint, decode, encode, load, save
from sim.disk import SimDisk

OFFSETS = {TopicPartition("orders", 0): 1842, TopicPartition("orders", 12): 0, TopicPartition("a.b_c-d", 3): 1 << 60}
names = st.text("abcXYZ019._-", min_size=1, max_size=20)


@given(st.dictionaries(st.builds(TopicPartition, names, st.integers(0, 1 << 31)), st.integers(0, 1 << 62)))
def test_what_was_encoded_is_decoded(offsets: dict[TopicPartition, int]) -> None:
    assert decode(encode(offsets)) == Checkpoint(offsets)


def test_any_damage_is_seen() -> None:
    content = encode(OFFSETS)
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1
        assert decode(bytes(damaged)) == Checkpoint({}, is_damaged=True)
        assert decode(content[:position]).is_damaged


def test_a_missing_file_is_no_damage() -> None:
    assert load(SimDisk().mount(), "/recovery-points") == Checkpoint({})


def test_a_saved_file_is_durable() -> None:
    machine = SimDisk()
    save(machine.mount(), "/recovery-points", OFFSETS)
    assert bytes(machine.root.durable["recovery-points"].durable) == encode(OFFSETS)
    assert load(machine.mount(), "/recovery-points") == Checkpoint(OFFSETS)


def test_one_of_a_newer_version_is_refused_and_not_called_damaged() -> None:
    """Without its start offsets, records that somebody deleted would be there again."""
    disk = SimDisk().mount()
    head, body = b"headrace-checkpoint 2 1", b"orders 0 0 1842\n"
    disk.write_atomic("/start-offsets", head + f" crc32c={checksum(head, body):08x}\n".encode() + body)
    with pytest.raises(UserError, match=r"/start-offsets .* has format 2, this version reads 1") as refused:
        load(disk, "/start-offsets")
    assert "docs/formats.md" in refused.value.fix


def test_a_flipped_bit_of_the_version_is_damage() -> None:
    disk = SimDisk().mount()
    for version in (b"3", b"9", b"17"):
        disk.write_atomic("/points", encode(OFFSETS).replace(b"checkpoint 1 ", b"checkpoint %s " % version))
        assert load(disk, "/points") == Checkpoint({}, is_damaged=True)
