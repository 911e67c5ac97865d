"""The four codecs of Kafka, each in the framing that the Java client writes and reads.

gzip and zstd are plain streams. lz4 is the frame format with independent blocks: Java refuses linked ones. snappy comes
in blocks behind the header of the xerial library; librdkafka and others send it bare, so both are read. Decompression
stops at a limit, since a few kilobytes can stand for gigabytes.
"""

from struct import Struct as Layout

import cramjam

from headrace.wire.batch import Bytes, CorruptBatch

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK = 32 * 1024
_INT32 = Layout(">i")

_FIRST_GUESS_MIN = 64 * 1024

# cramjam has one exception for damage and for a buffer that is too small; a large buffer for damaged data is not free.
_TOO_SMALL = "failed to write whole buffer"


def compress(codec: int, data: Bytes) -> bytes:
    if codec == NONE:
        return bytes(data)
    if codec == GZIP:
        return bytes(cramjam.gzip.compress(data))
    if codec == SNAPPY:
        return _compress_snappy(memoryview(data))
    if codec == LZ4:
        return _compress_lz4(data)
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(data))
    raise ValueError(f"no codec has the number {codec}")


def decompress(codec: int, data: Bytes, limit: int) -> bytes:
    """The data behind `codec`; CorruptBatch when it is damaged or would be larger than `limit` bytes."""
    if codec == NONE:
        return bytes(data)
    if not 0 < codec < len(CODEC_NAMES):
        raise CorruptBatch(f"no codec has the number {codec}")
    try:
        return _decompress_snappy(memoryview(data), limit) if codec == SNAPPY else _inflate(codec, data, limit)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"{CODEC_NAMES[codec]} data is damaged or larger than {limit} bytes: {error}") from error


def _compress_lz4(data: Bytes) -> bytes:
    stream = cramjam.lz4.Compressor(block_linked=False, content_checksum=False)
    stream.compress(bytes(data))
    return bytes(stream.finish())


def _compress_snappy(data: memoryview) -> bytes:
    out = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        out += (_INT32.pack(len(block)), block)
    return b"".join(out)


def _inflate(codec: int, data: Bytes, limit: int) -> bytes:
    """Tries ever larger buffers: the streams need not say how large they become, and a lie must cost nothing."""
    module = {GZIP: cramjam.gzip, LZ4: cramjam.lz4, ZSTD: cramjam.zstd}[codec]
    room = min(limit, max(_FIRST_GUESS_MIN, 4 * len(data)))
    while True:
        out = bytearray(room)
        try:
            return bytes(memoryview(out)[: module.decompress_into(data, out)])
        except cramjam.DecompressionError as error:
            if room >= limit or _TOO_SMALL not in str(error):
                raise
            room = min(limit, 8 * room)


def _decompress_snappy(data: memoryview, limit: int) -> bytes:
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _decompress_snappy_block(data, limit)
    out, size, pos = [], 0, len(_XERIAL_HEADER)
    while pos < len(data):
        if len(data) - pos < 4:
            raise CorruptBatch("a snappy block is cut short")
        (length,) = _INT32.unpack_from(data, pos)
        pos += 4
        if not 0 <= length <= len(data) - pos:
            raise CorruptBatch(f"a snappy block claims {length} bytes, {len(data) - pos} are left")
        out.append(_decompress_snappy_block(data[pos : pos + length], limit - size))
        size += len(out[-1])
        pos += length
    return b"".join(out)


def _decompress_snappy_block(block: memoryview, limit: int) -> bytes:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > limit:
        raise CorruptBatch(f"snappy data becomes {size} bytes, more than the {limit} allowed")
    return bytes(cramjam.snappy.decompress_raw(block))
