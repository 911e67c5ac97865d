"""The kinds of failure the whole house tells apart; each kind has one place that handles it (see ARCHITECTURE.md).

An expected refusal (not leader, unknown topic) is none of these: it is an error code, a value in a reply.
"""


class PeerError(Exception):
    """The peer broke the protocol. The listener closes that one connection and logs the peer."""


class UserError(Exception):
    """A failure that a person can mend: says the cause in one line, and the fix in another."""

    def __init__(self, cause: str, fix: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.cause}\n{self.fix}" if self.fix else self.cause


class DiskFull(Exception):
    """The disk has no space left. The partial append is cut back; the write is refused and the broker goes on."""


class DiskFailed(Exception):
    """The disk broke its word (EIO on read, write or sync). What is on it is unknown, so the node stops."""


class DiskTooSlow(DiskFailed):
    """The disk may still keep its word, but not in the time that a stop has: the stop is not a clean one."""


class StoreUnreachable(Exception):
    """The metadata store did not answer in time. A state with a deadline, not a reason to guess."""


class Refused(Exception):
    """An expected refusal on its way to the reply: a Kafka error code and a text that names the setting and the fix."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
