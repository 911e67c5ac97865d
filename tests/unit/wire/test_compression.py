"""The framings that other clients insist on."""

import cramjam
import pytest

from headrace.wire.batch import CorruptBatch
from headrace.wire.compression import GZIP, LZ4, SNAPPY, ZSTD, compress, decompress

TEXT = b"the quick brown fox " * 5000
XERIAL = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("data", [b"", b"x", TEXT])
def test_round_trip(codec, data):
    for given in (data, bytearray(data), memoryview(data)):
        assert decompress(codec, memoryview(compress(codec, given)), len(data)) == data


def test_snappy_is_written_in_xerial_blocks_and_read_bare_too():
    data = compress(SNAPPY, TEXT)
    assert data.startswith(XERIAL)
    assert len(TEXT) > 2 * 32768
    first = int.from_bytes(data[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(data[20 : 20 + first]) == 32768
    assert decompress(SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT)), len(TEXT)) == TEXT


def test_lz4_blocks_are_independent_since_java_reads_no_others():
    assert compress(LZ4, TEXT)[4] & 0x20


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_the_limit_holds_to_the_byte(codec):
    data = compress(codec, TEXT)
    assert decompress(codec, data, len(TEXT)) == TEXT
    with pytest.raises(CorruptBatch):
        decompress(codec, data, len(TEXT) - 1)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_garbage_is_corrupt(codec):
    for data in (b"\x00garbage", compress(codec, TEXT)[:-3], b"\xff" * 40):
        with pytest.raises(CorruptBatch):
            decompress(codec, data, 1 << 20)


@pytest.mark.parametrize("block", [b"\0\0", b"\0\0\0\x09ab", b"\xff\xff\xff\xff", b"\0\0\0\x02ab"])
def test_damaged_xerial_blocks_are_corrupt(block):
    with pytest.raises(CorruptBatch):
        decompress(SNAPPY, XERIAL + block, 1 << 20)


def test_unknown_codecs():
    with pytest.raises(CorruptBatch):
        decompress(5, b"", 10)
    with pytest.raises(ValueError, match="5"):
        compress(5, b"")
