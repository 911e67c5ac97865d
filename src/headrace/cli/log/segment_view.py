"""The two faces of `log dump`: aligned lines, or one JSON object per batch and one per segment. Both stream."""

from datetime import UTC, datetime
from typing import Any, Protocol

from headrace.base.units import size_text
from headrace.cli.log.segment_file import SegmentFile, StoredBatch
from headrace.cli.messages.message import json_fields
from headrace.cli.output import count_of, show_json
from headrace.wire.batch import CorruptBatch
from headrace.wire.compression import CODEC_NAMES
from headrace.wire.records import Record, read_marker, read_records

_LINE = "{:>10}  {:>12}  {:>12}  {:>7}  {:>5}  {:>8}  {:>6}  {:>9}  {:<6}  {:<12}  {:<24}  {:>10}  {:<3}"
_HEADS = (
    "POSITION",
    "FIRST",
    "LAST",
    "RECORDS",
    "EPOCH",
    "PRODUCER",
    "PEPOCH",
    "SEQUENCE",
    "CODEC",
    "FLAGS",
    "MAX TIME",
    "BYTES",
    "CRC",
)
_PREVIEW_BYTES = 60


class SegmentView(Protocol):
    def begin(self, segment: SegmentFile) -> None: ...

    def show(self, batch: StoredBatch) -> None: ...

    def end(self, segment: SegmentFile, index: str) -> None: ...


class TextView:
    def __init__(self, records: bool) -> None:
        self.records = records
        self.head_due = True

    def begin(self, segment: SegmentFile) -> None:
        print(f"{segment.path}  {size_text(segment.path.stat().st_size)}")
        self.head_due = True

    def show(self, batch: StoredBatch) -> None:
        if self.head_due:
            print(_LINE.format(*_HEADS))
            self.head_due = False
        print(_LINE.format(*_cells(batch)).rstrip())
        if self.records:
            for line in _record_lines(batch):
                print(f"            {line}")

    def end(self, segment: SegmentFile, index: str) -> None:
        span = f", offsets {segment.first_offset} to {(segment.next_offset or 0) - 1}" if segment.batch_count else ""
        print(f"{count_of(segment.batch_count, 'batch')}{span}; index: {index}")
        if segment.torn_bytes:
            print(f"torn end: {segment.torn_bytes} bytes are no whole batch (being written, or cut at the next start)")
        for damage in segment.damage:
            print(f"DAMAGE: {damage}")
        print()


class JsonView:
    def __init__(self, records: bool) -> None:
        self.records = records

    def begin(self, segment: SegmentFile) -> None:
        self.segment = str(segment.path)

    def show(self, batch: StoredBatch) -> None:
        header = batch.header
        fields: dict[str, Any] = {
            "segment": self.segment,
            "position": batch.position,
            **header._asdict(),
            "last_offset": header.last_offset,
            "size": header.size,
            "codec": _codec(header.codec),
            "transactional": header.is_transactional,
            "control": header.is_control,
            "log_append_time": header.is_log_append_time,
            "crc_ok": batch.crc_ok,
        }
        if self.records:
            fields["records"] = _json_records(batch)
        show_json(fields)

    def end(self, segment: SegmentFile, index: str) -> None:
        show_json(
            {
                "segment": self.segment,
                "batches": segment.batch_count,
                "first_offset": segment.first_offset,
                "next_offset": segment.next_offset,
                "torn_bytes": segment.torn_bytes,
                "damage": segment.damage,
                "index": index,
            }
        )


def _cells(batch: StoredBatch) -> tuple[Any, ...]:
    header = batch.header
    flags = (
        ("tx", header.is_transactional),
        ("control", header.is_control),
        ("append-time", header.is_log_append_time),
    )
    producer = (
        ("-", "-", "-") if header.producer_id < 0 else (header.producer_id, header.producer_epoch, header.base_sequence)
    )
    return (
        batch.position,
        header.base_offset,
        header.last_offset,
        header.record_count,
        header.leader_epoch,
        *producer,
        _codec(header.codec),
        ",".join(name for name, on in flags if on) or "-",
        _time(header.max_timestamp),
        header.size,
        "ok" if batch.crc_ok else "BAD",
    )


def _codec(number: int) -> str:
    return CODEC_NAMES[number] if number < len(CODEC_NAMES) else f"?{number}"


def _time(timestamp: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return str(timestamp)


def _record_lines(batch: StoredBatch) -> list[str]:
    try:
        if batch.header.is_control:
            return [str(read_marker(batch.content) or "a control record of another kind")]
        return [_record_line(record) for record in read_records(batch.content)]
    except CorruptBatch as error:
        return [f"records cannot be read: {error}"]


def _record_line(record: Record) -> str:
    headers = "".join(f" {name}={_preview(value)}" for name, value in record.headers)
    return f"{record.offset}  {_time(record.timestamp)}  {_preview(record.key)}  {_preview(record.value)}{headers}"


def _preview(raw: bytes | None) -> str:
    if raw is None:
        return "null"
    more = f"… ({len(raw)} bytes)" if len(raw) > _PREVIEW_BYTES else ""
    return repr(raw[:_PREVIEW_BYTES])[1:] + more


def _json_records(batch: StoredBatch) -> Any:
    try:
        if batch.header.is_control:
            marker = read_marker(batch.content)
            return [marker._asdict()] if marker else []
        return [_json_record(record) for record in read_records(batch.content)]
    except CorruptBatch as error:
        return {"error": str(error)}


def _json_record(record: Record) -> dict[str, Any]:
    headers = [{"name": name, **json_fields("value", value)} for name, value in record.headers]
    key, value = json_fields("key", record.key), json_fields("value", record.value)
    return {"offset": record.offset, "timestamp": record.timestamp, **key, **value, "headers": headers}
