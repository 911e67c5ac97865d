"""Everything a log knows that batch headers alone teach: its producers and its leader epochs.

Invariant: a state is a function of the headers below some offset, so it may be dropped and replayed at any time; a
snapshot is a state with that offset, and saves the replay.
"""

import struct

from headrace.log.envelope import unwrap, wrap
from headrace.log.epochs import Epochs
from headrace.log.producers import Producers
from headrace.wire.batch import BatchHeader

_MAGIC, _VERSION = b"HRst", 1
_HEAD = struct.Struct(">qI")


class LogState:
    __slots__ = ("epochs", "producers")

    def __init__(self, producers: Producers | None = None, epochs: Epochs | None = None) -> None:
        self.producers = producers if producers is not None else Producers()
        self.epochs = epochs if epochs is not None else Epochs()

    def apply(self, header: BatchHeader, now_ms: int) -> None:
        if header.producer_id >= 0:
            self.producers.record(header, now_ms)
        if header.leader_epoch > self.epochs.latest:
            self.epochs.begin(header.leader_epoch, header.base_offset)

    def encode(self, offset: int) -> bytes:
        epochs = self.epochs.encode()
        return wrap(_MAGIC, _VERSION, _HEAD.pack(offset, len(epochs)) + epochs + self.producers.encode())

    @classmethod
    def decode(cls, content: bytes, offset: int) -> "LogState | None":
        """None when damaged, or when it is the state at another offset than its file's name says."""
        unwrapped = unwrap(_MAGIC, _VERSION, content)
        if unwrapped is None:
            return None
        stated_offset, epochs_bytes = _HEAD.unpack_from(unwrapped)
        if stated_offset != offset:
            return None
        body = unwrapped[_HEAD.size :]
        return cls(Producers.decode(body[epochs_bytes:]), Epochs.decode(body[:epochs_bytes]))
