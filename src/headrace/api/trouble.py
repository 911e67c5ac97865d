"""Connections that fail, as librdkafka tells of them beside its calls: logins refused, TLS that fails, no broker at all.

librdkafka tries on whatever the cause is, and a call that fails in the end says only that its time is over. So each cause is
a line in the log now and then, and explains the calls that fail soon after it.
"""

import logging
import time
from collections.abc import Callable

from confluent_kafka import KafkaError

from headrace.api.errors import fix_of
from headrace.base.outage import Outage

logger = logging.getLogger("headrace.api")

# librdkafka tells of the same cause every half minute.
EXPLAINS_SECONDS = 60.0
_CAUSES = (KafkaError._AUTHENTICATION, KafkaError._SSL)
_CONSEQUENCES = (
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
)
_outages = {code: Outage() for code in (*_CAUSES, KafkaError._ALL_BROKERS_DOWN)}


class Trouble:
    """Trouble of one client of librdkafka; `note` is its error_cb."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cause: KafkaError | None = None
        self._noted_at = 0.0

    def note(self, error: KafkaError) -> None:
        if error.code() in _CAUSES:
            self._cause, self._noted_at = error, self._clock()
        if error.code() in _outages and _outages[error.code()].is_news():
            logger.warning("trying on: %(cause)s; %(fix)s", {"cause": error.str(), "fix": fix_of(error)})

    def cause_of(self, error: KafkaError) -> KafkaError:
        """The cause of a failure: the trouble noted lately where no broker has answered in time, else the error itself."""
        is_fresh = self._cause is not None and self._clock() - self._noted_at < EXPLAINS_SECONDS
        return self._cause if self._cause and is_fresh and error.code() in _CONSEQUENCES else error
