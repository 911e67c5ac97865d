"""The process that a client lives in: where a fork leaves it, and what a program's end does with it.

librdkafka's threads do not come along into a child made by fork. The child is told so by its first call, and tears nothing
down. What a program left open is closed when it ends: no message stays in a queue, no group waits for a member that is gone.
"""

import atexit
import ctypes
import logging
import os
from weakref import WeakSet

from headrace.api.errors import ApiError, Closed

logger = logging.getLogger("headrace.api")

_living: WeakSet["OfThisProcess"] = WeakSet()
_forks = 0


class OfThisProcess:
    """The owner of a client of confluent-kafka, its `handle`, in the process that made it."""

    def __init__(self, handle: object) -> None:
        self._forks = _forks
        self._handle = handle
        _living.add(self)

    @property
    def is_of_parent(self) -> bool:
        return self._forks != _forks

    def check_process(self) -> None:
        if self.is_of_parent:
            raise Closed("this client was made by the parent process, before the fork", "connect in the child, too")

    def keep_forever(self) -> None:
        """Keeps the handle from its destructor, which would wait for threads that only the parent has."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handle))

    def close_at_exit(self) -> None:
        """Closes clients that the program forgot to close."""


def _on_fork() -> None:
    global _forks
    _forks += 1
    for each in list(_living):
        each.keep_forever()
    _living.clear()


def _on_exit() -> None:
    for each in list(_living):
        try:
            each.close_at_exit()
        except ApiError as failure:
            logger.error("at the program's end: %(cause)s", {"cause": failure})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_on_fork)
atexit.register(_on_exit)
