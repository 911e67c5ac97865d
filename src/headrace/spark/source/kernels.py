"""Record batches taken apart by compiled code: where everything is (`index_*`), then what is wanted of it (`gather`).

Indexing trusts nothing: every length is held against the end of its record, every record against the end of its batch.
Gathering trusts the index and only copies. Compiled at first use and kept on disk (numba); no GIL while they run.
"""

# numba reads types off the values that come.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg"

import numpy as np
from numba import njit

from headrace.spark.machine import copy_bytes, crc32c

# What one row of `index_batches` holds.
(POSITION, SIZE, BASE_OFFSET, LAST_OFFSET, MAGIC, ATTRIBUTES, BASE_TIME, MAX_TIME, PRODUCER, COUNT) = range(10)
BATCH_FIELDS = 10

# What one row of `index_records` holds; a length of -1 stands for null.
(OFFSET, TIME, TIME_TYPE, KEY_AT, KEY_SIZE, VALUE_AT, VALUE_SIZE, HEADERS_AT, HEADERS, RECORD_END) = range(10)
RECORD_FIELDS = 10

# What is wrong with a batch, in place of a count.
BAD_LENGTH, BAD_FORMAT, BAD_CRC, BAD_COUNT, BAD_RECORD, BAD_NUMBER, BAD_FIELD, BAD_HEADERS = range(-1, -9, -1)

_HEADER_SIZE, _LENGTH_END, _CRC_AT, _CRC_START = 61, 12, 17, 21
_MAGIC = 2
RECORD_SIZE_MIN = 7
_LOG_APPEND_TIME = 0x08


@njit(cache=True, nogil=True)
def _read_int(buffer, at, width):
    value = np.int64(np.int8(buffer[at]))
    for i in range(1, width):
        value = (value << 8) | np.int64(buffer[at + i])
    return value


@njit(cache=True, nogil=True)
def _read_varint(buffer, at, end):
    """(value, position after it); position -1 when it does not end in time."""
    value, shift = np.uint64(0), np.uint64(0)
    while at < end and shift < 70:
        byte = np.uint64(buffer[at])
        at += 1
        value |= (byte & np.uint64(127)) << shift
        if byte < 128:
            if shift == 63 and byte > 1:
                break
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), at
        shift += np.uint64(7)
    return np.int64(0), np.int64(-1)


@njit(cache=True, nogil=True)
def index_batches(buffer, batches):
    """Fills a row for each batch whose checksum is right: (how many, 0, or what is bad about the one after them).

    All are tested, also those that a reader skips: that it may skip them is something their bytes say.
    """
    found, at = 0, 0
    while at < len(buffer):
        size = _read_int(buffer, at + 8, 4) + _LENGTH_END if len(buffer) - at >= _HEADER_SIZE else 0
        if size < _HEADER_SIZE or size > len(buffer) - at:
            return found, BAD_LENGTH
        row = batches[found]
        row[POSITION] = at
        row[SIZE] = size
        row[BASE_OFFSET] = _read_int(buffer, at, 8)
        row[LAST_OFFSET] = row[BASE_OFFSET] + _read_int(buffer, at + 23, 4)
        row[MAGIC] = _read_int(buffer, at + 16, 1)
        row[ATTRIBUTES] = _read_int(buffer, at + 21, 2)
        row[BASE_TIME] = _read_int(buffer, at + 27, 8)
        row[MAX_TIME] = _read_int(buffer, at + 35, 8)
        row[PRODUCER] = _read_int(buffer, at + 43, 8)
        row[COUNT] = _read_int(buffer, at + 57, 4)
        stored = np.uint64(_read_int(buffer, at + _CRC_AT, 4)) & np.uint64(0xFFFFFFFF)
        if row[MAGIC] != _MAGIC:
            return found, BAD_FORMAT
        if crc32c(buffer, at + _CRC_START, at + size) != stored:
            return found, BAD_CRC
        found += 1
        at += size
    return found, 0


@njit(cache=True, nogil=True)
def index_records(buffer, begin, end, batch, first, limit, records, found):
    """Adds the records of one batch with first <= offset < limit behind `found` others; the new count, or what is bad."""
    if batch[COUNT] < 0 or batch[COUNT] > (end - begin) // RECORD_SIZE_MIN:
        return BAD_COUNT
    is_append_time = batch[ATTRIBUTES] & _LOG_APPEND_TIME != 0
    at = begin
    for _ in range(batch[COUNT]):
        size, at = _read_varint(buffer, at, end)
        if at < 0 or size < 0 or size > end - at:
            return BAD_RECORD
        stop = at + size
        time, at = _read_varint(buffer, at + 1, stop)
        if at < 0:
            return BAD_NUMBER
        delta, at = _read_varint(buffer, at, stop)
        if at < 0:
            return BAD_NUMBER
        key_size, at = _read_varint(buffer, at, stop)
        key_at = at
        if at < 0 or key_size > stop - at:
            return BAD_FIELD
        value_size, at = _read_varint(buffer, at + max(key_size, 0), stop)
        value_at = at
        if at < 0 or value_size > stop - at:
            return BAD_FIELD
        headers, at = _read_varint(buffer, at + max(value_size, 0), stop)
        # A header takes two bytes at least.
        if at < 0 or headers < 0 or headers > (stop - at) // 2:
            return BAD_HEADERS
        offset = batch[BASE_OFFSET] + delta
        if first <= offset < limit:
            row = records[found]
            row[OFFSET] = offset
            row[TIME] = batch[MAX_TIME] if is_append_time else batch[BASE_TIME] + time
            row[TIME_TYPE] = is_append_time
            row[KEY_AT] = key_at
            row[KEY_SIZE] = max(key_size, -1)
            row[VALUE_AT] = value_at
            row[VALUE_SIZE] = max(value_size, -1)
            row[HEADERS_AT] = at
            row[HEADERS] = headers
            row[RECORD_END] = stop
            found += 1
        at = stop
    return found


@njit(cache=True, nogil=True)
def index_plain(buffer, batches, first, limit, records, found):
    """The records of batches that lie uncompressed in the buffer: (count or what is bad, its batch)."""
    for i in range(len(batches)):
        batch = batches[i]
        begin, end = batch[POSITION], batch[POSITION] + batch[SIZE]
        found = index_records(buffer, begin + _HEADER_SIZE, end, batch, first, limit, records, found)
        if found < 0:
            return found, i
    return found, 0


@njit(cache=True, nogil=True)
def index_headers(buffer, records, headers):
    """(name at, size, value at, size) of every header of these records, in order; the count, or -1 - bad record."""
    found = 0
    for i in range(len(records)):
        at, end = records[i, HEADERS_AT], records[i, RECORD_END]
        for _ in range(records[i, HEADERS]):
            row = headers[found]
            for field in range(0, 4, 2):
                size, at = _read_varint(buffer, at, end)
                # A header's value may be null, its name may not.
                if at < 0 or size > end - at or (size < 0 and field == 0):
                    return -1 - i
                row[field] = at
                row[field + 1] = max(size, -1)
                at += max(size, 0)
            found += 1
    return found


@njit(cache=True, nogil=True)
def gather(buffer, at, sizes, ends, data, valid):
    """Copies the fields one behind the other: their ends, the bytes, and a bit for each that is not null; the nulls."""
    filled, nulls = 0, 0
    ends[0] = 0
    for i in range(len(at)):
        size = sizes[i]
        if size < 0:
            nulls += 1
        else:
            copy_bytes(data, filled, buffer, at[i], size)
            filled += size
            valid[i >> 3] |= np.uint8(1 << (i & 7))
        ends[i + 1] = filled
    return nulls
