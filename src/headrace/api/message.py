"""A message that was read: its bytes, its place, and its value as text, JSON, a model or an Avro record."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import confluent_kafka

from headrace.api.errors import ApiError
from headrace.api.traces import context_in
from headrace.api.values import Schema, from_avro

if TYPE_CHECKING:
    from opentelemetry.context import Context

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class Message:
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.timestamp_ms / 1000, UTC)

    @property
    def text(self) -> str:
        try:
            return self._bytes().decode()
        except UnicodeDecodeError as failure:
            raise ApiError(f"{self.place} is no text: {failure}", "read .value instead") from None

    def json(self) -> Any:
        try:
            return json.loads(self._bytes())
        except ValueError as failure:
            raise ApiError(f"{self.place} is no JSON: {failure}", "read .value or .text instead") from None

    def model(self, kind: type[Model]) -> Model:
        """The value as a pydantic model; what does not fit raises pydantic's ValidationError."""
        validate = getattr(kind, "model_validate_json", None)
        if validate is None:
            raise ApiError(
                f"{kind.__name__} is no pydantic model", "pass a subclass of pydantic.BaseModel, or use .json()"
            )
        model: Model = validate(self._bytes())
        return model

    def avro(self, schema: Schema) -> Any:
        return from_avro(self._bytes(), schema)

    def trace_context(self) -> "Context":
        """OpenTelemetry's context of its sender, who said `traces=True`; an empty one if none was sent.

        `with tracer.start_as_current_span("charge", message.trace_context()):` goes on with its trace.
        """
        return context_in(self.headers)

    @property
    def place_id(self) -> tuple[str, int]:
        return self.topic, self.partition

    @property
    def place(self) -> str:
        return f"{self.topic}-{self.partition} at offset {self.offset}"

    def _bytes(self) -> bytes:
        if self.value is None:
            raise ApiError(f"{self.place} has no value: it deletes its key", "look at .value first")
        return self.value


def message_of(read: confluent_kafka.Message) -> Message:
    topic, partition, offset = read.topic(), read.partition(), read.offset()
    assert topic is not None and partition is not None and offset is not None, "a message that was read has a place"
    key, value = _raw(read.key()), _raw(read.value())
    pairs: Any = read.headers() or ()
    headers = tuple((name, _raw(header)) for name, header in pairs)
    return Message(topic, partition, offset, key, value, read.timestamp()[1], headers)


def _raw(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
