"""The one rule for asking again: while the refusal may pass and time is left, after pauses that double and vary.

A pause is at most LONGEST_PAUSE_SECONDS, and up to half of it is chance: clients that failed together come back apart.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.wire.codes import CODES

FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 1.0
_DOUBLINGS_MAX = 32

T = TypeVar("T")
Chance = Callable[[], float]
"""A number in [0, 1), a new one with every call."""


def may_pass(error: Refused | Disconnected) -> bool:
    """Whether the same request may be answered later: nobody answered, or Kafka calls the code retriable."""
    return isinstance(error, Disconnected) or (error.code in CODES and CODES[error.code].retriable)


def pause_seconds(
    tries: int,
    *,
    first: float = FIRST_PAUSE_SECONDS,
    longest: float = LONGEST_PAUSE_SECONDS,
    chance: Chance = random.random,
) -> float:
    """The pause after so many tries."""
    whole = min(longest, first * 2.0 ** min(tries - 1, _DOUBLINGS_MAX))
    return whole * (1 - chance() / 2)


async def insist(
    attempt: Callable[[], Awaitable[T]],
    seconds_max: float,
    *,
    passes: Callable[[Refused | Disconnected], bool] = may_pass,
    forget: Callable[[], object] = lambda: None,
    chance: Chance = random.random,
) -> T:
    """The first answer, or the last refusal when that does not pass, or not in time. Each refusal calls `forget`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds_max
    for tries in count(1):
        try:
            return await attempt()
        except (Refused, Disconnected) as error:
            forget()
            pause = pause_seconds(tries, chance=chance)
            if not passes(error) or loop.time() + pause > deadline:
                raise
        await asyncio.sleep(pause)
    raise AssertionError("count has no end")
