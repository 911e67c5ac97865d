"""A stretch of whole batches in one segment file, pinned so that the file stays open until the reply has left.

Goes into a reply's records field as it is: it has a length, and is sent with sendfile or `read`. Every range must be
released exactly once.
"""

from headrace.base.disk import File


class FileRange:
    __slots__ = ("file", "length", "next_offset", "position")

    def __init__(self, file: File, position: int, length: int, next_offset: int) -> None:
        file.pin()
        self.file = file
        self.position = position
        self.length = length
        self.next_offset = next_offset

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        return self.file.pread(self.length, self.position)

    def release(self) -> None:
        self.file.unpin()
