"""The share of descriptors that connections may use, so that there are always some left for files.

A broker that cannot open its next segment or write its checkpoint has to stop; one that refuses a connection has not.
A connection takes one, and a second one once it has been answered (see `socket_outbox`).
"""

import resource

# Segments that are kept open; more are opened and closed again as needed.
FILES_MAX = 2000
# The store, pipes, listening sockets, indexes and checkpoints while they are written.
RESERVED = 100


class Descriptors:
    def __init__(self, limit: int) -> None:
        self.files_max = min(FILES_MAX, limit // 4)
        self.left = max(1, limit - self.files_max - RESERVED)

    def take(self) -> bool:
        if self.left <= 0:
            return False
        self.left -= 1
        return True

    def give_back(self) -> None:
        self.left += 1


def descriptor_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft
