"""The records that make up a group, and their bytes: key and value each begin with a number of two bytes.

A key's number is the type of the record, and types that we do not know are skipped, since newer code may have written
them beside ours. A value's is its format version, and a newer one than ours is refused rather than guessed at. A value of
None is a tombstone. Replaying all records of a partition in order gives everything about its groups that survives.
"""

from collections.abc import Callable
from struct import Struct as Layout
from typing import NamedTuple

from headrace.base.errors import PeerError, UserError
from headrace.base.other_format import other_format
from headrace.groups.classic import stored as classic_stored
from headrace.groups.classic.records import GroupRecord, decode_classic, encode_classic
from headrace.groups.consumer import stored as consumer_stored
from headrace.groups.consumer.records import CONSUMER_KINDS, ConsumerRecord, decode_consumer, encode_consumer
from headrace.groups.offsets import stored as offsets_stored
from headrace.groups.offsets.records import OffsetRecord, decode_offset, encode_offset

_NUMBER = Layout(">h")

Record = OffsetRecord | GroupRecord | ConsumerRecord


def encode(record: Record) -> tuple[bytes, bytes | None]:
    if isinstance(record, OffsetRecord):
        return encode_offset(record)
    if isinstance(record, GroupRecord):
        return encode_classic(record)
    return encode_consumer(record)


def decode(key: bytes | None, value: bytes | None) -> Record | None:
    """The record of a key and value; None for a type we do not know."""
    number = _NUMBER.unpack_from(key)[0] if key and len(key) >= _NUMBER.size else -1
    kind = _KINDS.get(number)
    if key is None or kind is None:
        return None
    try:
        if value is not None:
            _check_version(value, kind.value_version)
        return kind.decode(key, value)
    except PeerError as error:
        raise UserError(
            f"a record of __consumer_offsets cannot be read: {error}",
            "Its partition is damaged: let another replica lead it. If none is whole, "
            "`headrace backup restore` brings topics and group offsets into a new cluster.",
        ) from error


def _check_version(value: bytes, expected: int) -> None:
    version = _NUMBER.unpack_from(value)[0] if len(value) >= _NUMBER.size else -1
    if version != expected:
        raise other_format("a record of __consumer_offsets", version, expected)


class _Kind(NamedTuple):
    value_version: int
    decode: Callable[[bytes, bytes | None], Record]


_CONSUMER = _Kind(consumer_stored.VALUE_VERSION, decode_consumer)
_KINDS: dict[int, _Kind] = {
    offsets_stored.OFFSET_COMMIT: _Kind(offsets_stored.VALUE_VERSION, decode_offset),
    classic_stored.GROUP_METADATA: _Kind(classic_stored.VALUE_VERSION, decode_classic),
    **dict.fromkeys(CONSUMER_KINDS, _CONSUMER),
}
