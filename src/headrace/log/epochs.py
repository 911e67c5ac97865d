"""The offset at which each leader epoch began in this log, derived from batch headers alone.

Invariant: epochs and start offsets both rise. The epoch a leader holds now comes from the cluster image, not from here:
it has no batch until its leader appends one.
"""

import struct
from bisect import bisect_right

_ROW = struct.Struct(">iq")
UNKNOWN = (-1, -1)


class Epochs:
    __slots__ = ("_epochs", "_starts", "latest")

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest = -1

    def __iter__(self) -> "zip[tuple[int, int]]":
        return zip(self._epochs, self._starts, strict=True)

    def begin(self, epoch: int, start_offset: int) -> None:
        assert epoch > self.latest, (epoch, self.latest)
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest = epoch

    def end_of(self, epoch: int, current_epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(largest epoch at or below the asked one, its end offset), by which a follower finds where histories part.

        `current_epoch` is the leader's own, which ends at the log end whether it has batches or not.
        """
        newest = max(current_epoch, self.latest)
        if epoch == newest:
            return epoch, log_end_offset
        if epoch > newest or epoch < 0:
            return UNKNOWN
        row = bisect_right(self._epochs, epoch)
        end = self._starts[row] if row < len(self._starts) else log_end_offset
        return (self._epochs[row - 1] if row else epoch), end

    def epoch_at(self, offset: int) -> int:
        """The epoch whose batches reach over an offset; -1 when none does."""
        row = bisect_right(self._starts, offset)
        return self._epochs[row - 1] if row else -1

    def trim_start(self, start_offset: int) -> None:
        """Forgets the epochs below `start_offset`; the one that reaches over it begins there now."""
        keep = bisect_right(self._starts, start_offset) - 1
        if keep > 0:
            del self._epochs[:keep], self._starts[:keep]
        if self._starts and self._starts[0] < start_offset:
            self._starts[0] = start_offset

    def encode(self) -> bytes:
        return b"".join(_ROW.pack(epoch, start) for epoch, start in self)

    @classmethod
    def decode(cls, content: bytes) -> "Epochs":
        epochs = cls()
        for epoch, start in _ROW.iter_unpack(content):
            epochs.begin(epoch, start)
        return epochs
