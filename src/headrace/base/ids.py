"""Names of things: topic ids as 16 raw bytes (as on the wire) and their 22-character printed form."""

import base64
import binascii
from typing import NamedTuple

ZERO_ID = bytes(16)


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def format_id(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def parse_id(text: str) -> bytes:
    try:
        raw = base64.urlsafe_b64decode(text + "==")
    except binascii.Error as error:
        raise ValueError(f"not an id: {text!r}") from error
    if len(raw) != 16:
        raise ValueError(f"not an id: {text!r}")
    return raw
