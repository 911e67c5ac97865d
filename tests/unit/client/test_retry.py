"""When Kafka is asked again, and when no more: in virtual time."""

from itertools import pairwise

import pytest

from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.client.retry import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, insist, may_pass, pause_seconds
from headrace.wire.codes import ErrorCode
from quiet_loop import QuietLoop

MOVED, INVALID = Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, "moved"), Refused(ErrorCode.INVALID_RECORD, "invalid")


class Broker:
    """Refuses so many times with this error, then answers; keeps the time of every question."""

    def __init__(self, loop: QuietLoop, error: Exception, refusals: int) -> None:
        self._loop = loop
        self._error = error
        self._refusals = refusals
        self.times: list[float] = []

    async def ask(self) -> str:
        self.times.append(self._loop.time())
        if len(self.times) <= self._refusals:
            raise self._error
        return "answer"


def never() -> float:
    return 0.0


def test_a_pause_doubles_up_to_a_limit() -> None:
    pauses = [pause_seconds(tries, chance=never) for tries in range(1, 100)]
    assert pauses[0] == FIRST_PAUSE_SECONDS and pauses[-1] == LONGEST_PAUSE_SECONDS
    assert all(later == min(2 * earlier, LONGEST_PAUSE_SECONDS) for earlier, later in pairwise(pauses))


def test_chance_takes_up_to_half_of_a_pause_away() -> None:
    pauses = [pause_seconds(3, first=1.0, longest=9.0, chance=lambda x=each / 100: x) for each in range(100)]
    assert pauses[0] == 4.0 and 2.0 < min(pauses) < 2.05
    assert len(set(pauses)) == 100


@pytest.mark.parametrize("error", [MOVED, Disconnected("gone")])
def test_a_question_is_asked_again_until_it_is_answered(error: Exception) -> None:
    loop = QuietLoop()
    broker, forgotten = Broker(loop, error, 3), []
    assert loop.run(insist(broker.ask, 30.0, forget=lambda: forgotten.append(1), chance=never)) == "answer"
    assert [round(later - earlier, 3) for earlier, later in pairwise(broker.times)] == [0.02, 0.04, 0.08]
    assert len(forgotten) == 3


@pytest.mark.parametrize("error", [INVALID, Refused(9999, "of a later Kafka")])
def test_a_refusal_that_stays_is_raised_at_once(error: Refused) -> None:
    loop = QuietLoop()
    broker = Broker(loop, error, 3)
    assert _raised(loop, broker) is error and len(broker.times) == 1


def test_the_last_refusal_is_raised_before_the_deadline() -> None:
    loop = QuietLoop()
    broker = Broker(loop, MOVED, 1000)
    began = loop.time()
    assert _raised(loop, broker) is MOVED
    assert 9.0 <= loop.time() - began <= 10.0


def test_who_asks_may_say_what_passes() -> None:
    loop = QuietLoop()
    broker = Broker(loop, INVALID, 2)
    assert loop.run(insist(broker.ask, 10.0, passes=lambda _: True)) == "answer"
    assert not may_pass(INVALID) and may_pass(MOVED)


def _raised(loop: QuietLoop, broker: Broker) -> Exception:
    with pytest.raises(Refused) as caught:
        loop.run(insist(broker.ask, 10.0, chance=never))
    return caught.value
