"""The admission of a batch: every test that a producer's batch must pass before it is given an offset.

Looks at the header and the checksum only. Records are opened for two kinds of topic, because nothing else can tell:
compacted ones (every record needs a key) and ones with a codec of their own (the batch is packed again).

A topic that is being restored from a backup (`headrace.restoring`) also takes what brokers make of batches: offsets that
compaction left out, the time of an append, the horizon of tombstones.
"""

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.cluster.topic_config import TopicConfig
from headrace.wire.batch import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    CorruptBatch,
    crc_ok,
)
from headrace.wire.codes import ErrorCode
from headrace.wire.records import build_batch, read_records

CODEC_BY_NAME = {"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
ZSTD = CODEC_BY_NAME["zstd"]
ZSTD_SINCE_PRODUCE = 7
# Bits that only brokers set.
_RESERVED = LOG_APPEND_TIME | CONTROL | DELETE_HORIZON
# Offsets that one batch may span: a segment counts its own from its base.
SPAN_MAX = (1 << 31) - 1
# Length, attributes, timestamp, offset, key, value and header count take a byte each.
RECORD_BYTES_MIN = 7
# A batch is opened in memory only up to this size, whatever it claims to hold.
OPENED_BYTES_MAX = 64 << 20


class RecordsRefused(Refused):
    """Refused because of single records; their indexes go into the reply (Produce 8+)."""

    def __init__(self, message: str, record_indexes: list[int]) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)
        self.record_indexes = record_indexes


def admit(records: memoryview, header: BatchHeader, config: TopicConfig, produce_version: int, now: Now) -> None:
    """Raises Refused, with the code that Kafka would give, unless `records` is one valid batch with this header.

    Nearly every batch passes, so all rules are one expression; only one that fails is asked which rule it broke.
    """
    size = header.batch_length + LENGTH_END
    codec = header.attributes & CODEC_MASK
    if not (
        size == len(records)
        and header.magic == MAGIC
        and 0 < header.record_count == header.last_offset_delta + 1
        and (codec or header.record_count * RECORD_BYTES_MIN <= size - HEADER_SIZE)
        and not header.attributes & _RESERVED
        and codec <= ZSTD
        and (
            (header.base_sequence >= 0 and header.producer_epoch >= 0)
            if header.producer_id >= 0
            else not header.attributes & TRANSACTIONAL
        )
        and size <= config.max_message_bytes
        and size <= config.segment_bytes
        and (codec != ZSTD or produce_version >= ZSTD_SINCE_PRODUCE)
        and header.max_timestamp - now.wall <= config.message_timestamp_after_max_ms
        and now.wall - header.base_timestamp <= config.message_timestamp_before_max_ms
    ):
        _check_shape(records, header, config)
        _check_limits(header, config, produce_version, now)
    if not crc_ok(records, 0, size):
        raise Refused(ErrorCode.CORRUPT_MESSAGE, "the checksum of the batch does not match its bytes")


def _check_shape(records: memoryview, header: BatchHeader, config: TopicConfig) -> None:
    if header.magic != MAGIC:
        raise Refused(ErrorCode.INVALID_RECORD, f"record format {header.magic} is not supported; the only one is 2")
    if header.size != len(records):
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"exactly one batch per partition is allowed; the first is {header.size} bytes of {len(records)}",
        )
    if not _counts_add_up(header, config):
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"the batch says {header.record_count} records but its last offset delta is {header.last_offset_delta}",
        )
    if not header.codec and header.record_count * RECORD_BYTES_MIN > header.size - HEADER_SIZE:
        raise Refused(
            ErrorCode.INVALID_RECORD, f"{header.record_count} records do not fit into a batch of {header.size} bytes"
        )
    if header.is_control:
        raise Refused(ErrorCode.INVALID_RECORD, "producers may not write control batches")
    if header.attributes & DELETE_HORIZON and not config.headrace_restoring:
        raise Refused(ErrorCode.INVALID_RECORD, "a producer may not say when its tombstones go")
    if header.is_transactional and header.producer_id < 0:
        raise Refused(ErrorCode.INVALID_RECORD, "a transactional batch needs a producer id")
    if header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise Refused(ErrorCode.INVALID_RECORD, "a batch with a producer id needs an epoch and a sequence number")
    if header.codec > ZSTD:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"unknown compression codec {header.codec}")


def _counts_add_up(header: BatchHeader, config: TopicConfig) -> bool:
    """A record for each offset; into a topic that is being restored, as compaction leaves a batch, which may be empty."""
    span = header.last_offset_delta + 1
    if config.headrace_restoring:
        return 0 <= header.record_count <= span and 0 < span <= SPAN_MAX
    return 0 < header.record_count == span


def _check_limits(header: BatchHeader, config: TopicConfig, produce_version: int, now: Now) -> None:
    if header.size > config.max_message_bytes:
        raise Refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"batch of {header.size} bytes; this topic takes {config.max_message_bytes} (max.message.bytes)",
        )
    if header.size > config.segment_bytes:
        raise Refused(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"batch of {header.size} bytes does not fit a segment of {config.segment_bytes} (segment.bytes)",
        )
    if header.codec == ZSTD and produce_version < ZSTD_SINCE_PRODUCE:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or newer")
    if header.is_log_append_time and not config.headrace_restoring:
        raise Refused(ErrorCode.INVALID_TIMESTAMP, "a producer may not set the LogAppendTime attribute")
    if not config.stamps_append_time:
        _check_timestamps(header, config, now)


def _check_timestamps(header: BatchHeader, config: TopicConfig, now: Now) -> None:
    if header.max_timestamp - now.wall > config.message_timestamp_after_max_ms:
        raise Refused(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {header.max_timestamp} is {header.max_timestamp - now.wall} ms in the future; "
            f"this topic allows {config.message_timestamp_after_max_ms} (message.timestamp.after.max.ms)",
        )
    if header.base_timestamp >= 0 and now.wall - header.base_timestamp > config.message_timestamp_before_max_ms:
        raise Refused(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {header.base_timestamp} is {now.wall - header.base_timestamp} ms old; this topic allows "
            f"{config.message_timestamp_before_max_ms} (message.timestamp.before.max.ms)",
        )


def _codec(config: TopicConfig) -> int:
    return CODEC_BY_NAME[config.compression_type]


def repacked(records: memoryview, header: BatchHeader, config: TopicConfig) -> memoryview:
    """The batch as this topic wants to store it, after a look at every record. Offset and epoch stay as they are."""
    try:
        content = read_records(records, max_bytes=OPENED_BYTES_MAX)
    except CorruptBatch as error:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"the batch cannot be opened: {error}") from error
    if config.compacts:
        keyless = [index for index, record in enumerate(content) if record.key is None]
        if keyless:
            raise RecordsRefused("a compacted topic (cleanup.policy=compact) takes only records with a key", keyless)
    codec = header.codec if config.compression_type == "producer" else _codec(config)
    if codec == header.codec:
        return records
    packed = bytearray(
        build_batch(
            content,
            codec=codec,
            base_offset=header.base_offset,
            leader_epoch=header.leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
        )
    )
    return memoryview(packed)
