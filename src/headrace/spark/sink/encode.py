"""Rows to records, compiled: routes rows by key as Kafka's Java client does, and writes records as they lie in a batch.

Works on the bare arrays of `columns`; a length of -1 is a null. The first call in a process loads the compiled code
from numba's cache on disk, or takes some seconds to fill it. Nothing here knows of topics, batches' headers or sending.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from headrace.spark.machine import copy_bytes
from headrace.spark.sink.columns import Ints, Longs, Octets

# Rows without a key keep together in runs of at least this many: a few small batches cost more than one.
RUN_ROWS_MIN = 64
_MULTIPLIER = np.uint32(0x5BD1E995)
_SEED = np.uint32(0x9747B28C)

F = TypeVar("F", bound=Callable[..., Any])
compiled = cast(Callable[[F], F], numba.njit(cache=True, nogil=True))


@compiled
def murmur2(data: Octets, start: int, length: int) -> int:
    """Kafka's variant of it, without the sign."""
    h = _SEED ^ np.uint32(length)
    at = start
    for _ in range(length // 4):
        k = (
            np.uint32(data[at])
            | (np.uint32(data[at + 1]) << np.uint32(8))
            | (np.uint32(data[at + 2]) << np.uint32(16))
            | (np.uint32(data[at + 3]) << np.uint32(24))
        )
        k = np.uint32(k * _MULTIPLIER)
        k = np.uint32(k ^ (k >> np.uint32(24)))
        k = np.uint32(k * _MULTIPLIER)
        h = np.uint32(np.uint32(h * _MULTIPLIER) ^ k)
        at += 4
    left = length % 4
    if left == 3:
        h = np.uint32(h ^ (np.uint32(data[at + 2]) << np.uint32(16)))
    if left >= 2:
        h = np.uint32(h ^ (np.uint32(data[at + 1]) << np.uint32(8)))
    if left >= 1:
        h = np.uint32(np.uint32(h ^ np.uint32(data[at])) * _MULTIPLIER)
    h = np.uint32(h ^ (h >> np.uint32(13)))
    h = np.uint32(h * _MULTIPLIER)
    h = np.uint32(h ^ (h >> np.uint32(15)))
    return int(h & np.uint32(0x7FFFFFFF))


@compiled
def route(
    rows: Longs, chosen: Ints, key_starts: Ints, key_lengths: Ints, keys: Octets, partitions: int, first: int
) -> tuple[Ints, int]:
    """A partition for each of `rows`: the chosen one, the key's, or for a run of rows without a key the next in turn.

    `chosen` is empty or has -1 where nothing is chosen. Also returns whose turn it is after these.
    """
    keyless = 0
    for row in rows:
        if key_lengths[row] < 0 and (len(chosen) == 0 or chosen[row] < 0):
            keyless += 1
    run = max(RUN_ROWS_MIN, (keyless + partitions - 1) // partitions)
    routed = np.empty(len(rows), np.int32)
    seen = 0
    for i in range(len(rows)):
        row = rows[i]
        if len(chosen) and chosen[row] >= 0:
            routed[i] = chosen[row]
        elif key_lengths[row] >= 0:
            routed[i] = murmur2(keys, key_starts[row], key_lengths[row]) % partitions
        else:
            routed[i] = (first + seen // run) % partitions
            seen += 1
    return routed, (first + (seen + run - 1) // run) % partitions


@compiled
def sizes(
    key_lengths: Ints,
    value_lengths: Ints,
    header_starts: Ints,
    header_counts: Ints,
    header_key_lengths: Ints,
    header_value_lengths: Ints,
) -> Longs:
    """The size of each record without its length and its two deltas."""
    out = np.empty(len(value_lengths), np.int64)
    for row in range(len(out)):
        size = 1 + _sized(key_lengths[row]) + _sized(value_lengths[row]) + 1
        if len(header_counts):
            first, count = header_starts[row], header_counts[row]
            size += _varint_size(count) - 1
            for at in range(first, first + count):
                size += _sized(header_key_lengths[at]) + _sized(header_value_lengths[at])
        out[row] = size
    return out


@compiled
def append(
    out: Octets,
    position: int,
    records: int,
    base_time: int,
    order: Longs,
    begin: int,
    sizes: Longs,
    times: Longs,
    key_starts: Ints,
    key_lengths: Ints,
    keys: Octets,
    value_starts: Ints,
    value_lengths: Ints,
    values: Octets,
    header_starts: Ints,
    header_counts: Ints,
    header_key_starts: Ints,
    header_key_lengths: Ints,
    header_keys: Octets,
    header_value_starts: Ints,
    header_value_lengths: Ints,
    header_values: Octets,
) -> tuple[int, int, int]:
    """Writes the rows order[begin:] behind `position`, where `records` are before them, as far as there is room.

    Returns where the next row is in `order`, the new position, and the latest time written.
    """
    latest = -1
    for i in range(begin, len(order)):
        row = order[i]
        time = times[row] if len(times) else base_time
        body = sizes[row] + _varint_size(time - base_time) + _varint_size(records)
        if position + _varint_size(body) + body > len(out):
            return i, position, latest
        position = _put_varint(out, position, body)
        out[position] = 0
        position = _put_varint(out, position + 1, time - base_time)
        position = _put_varint(out, position, records)
        position = _put(out, position, keys, key_starts[row], key_lengths[row])
        position = _put(out, position, values, value_starts[row], value_lengths[row])
        count = header_counts[row] if len(header_counts) else 0
        position = _put_varint(out, position, count)
        if count:
            for at in range(header_starts[row], header_starts[row] + count):
                position = _put(out, position, header_keys, header_key_starts[at], header_key_lengths[at])
                position = _put(out, position, header_values, header_value_starts[at], header_value_lengths[at])
        records += 1
        latest = max(latest, time)
    return len(order), position, latest


@compiled
def _put(out: Octets, position: int, data: Octets, start: int, length: int) -> int:
    position = _put_varint(out, position, length)
    if length > 0:
        copy_bytes(out, position, data, start, length)  # type: ignore[call-arg]
        position += length
    return position


@compiled
def _sized(length: int) -> int:
    return _varint_size(length) + max(length, 0)


@compiled
def _varint_size(number: int) -> int:
    value = np.uint64((number << 1) ^ (number >> 63))
    size = 1
    while value >= np.uint64(128):
        value >>= np.uint64(7)
        size += 1
    return size


@compiled
def _put_varint(out: Octets, position: int, number: int) -> int:
    value = np.uint64((number << 1) ^ (number >> 63))
    while value >= np.uint64(128):
        out[position] = np.uint8((value & np.uint64(127)) | np.uint64(128))
        value >>= np.uint64(7)
        position += 1
    out[position] = np.uint8(value)
    return position + 1
