"""Questions to a coordinator that moves, dies, or is never found: in virtual time."""

from collections.abc import Iterable
from itertools import repeat
from typing import Any

import pytest

from headrace.admin.admin import Admin
from headrace.admin.coordinators import MOVED_COORDINATOR_SECONDS_MAX, at_coordinator
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.client.kafka_cluster import TRANSACTION
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import DescribeClusterRequest, DescribeClusterResponse
from headrace.wire.messages.coordinators import Coordinator, FindCoordinatorResponse
from quiet_loop import QuietLoop

MOVED = Refused(ErrorCode.NOT_COORDINATOR, "moved")


class Brokers(Admin):
    """Broker 7 coordinates everything; `is_alone` when no other answers."""

    def __init__(self, is_alone: bool = False) -> None:
        super().__init__([("nowhere", 1)], "test")
        self.is_alone = is_alone

    async def ask(self, request: Any, response: Any) -> Any:
        if isinstance(request, DescribeClusterRequest):
            if self.is_alone:
                raise Disconnected("nobody answers")
            return DescribeClusterResponse()
        return FindCoordinatorResponse(coordinators=[Coordinator(request.key, 7)])


def asked(errors: Iterable[Exception], kind: int = 0, admin: Brokers | None = None) -> tuple[Any, float]:
    """The answer after these errors, and the seconds that it took."""
    loop, coming = QuietLoop(), iter(errors)

    async def ask(broker_id: int) -> int:
        for error in coming:
            raise error
        return broker_id

    async def run() -> tuple[Any, float]:
        began = loop.time()
        try:
            answer: Any = await at_coordinator(admin or Brokers(), "billing", ask, kind)
        except (Refused, Disconnected) as error:
            answer = error
        return answer, loop.time() - began

    answer, seconds = loop.run(run())
    return answer, seconds


def test_a_coordinator_that_has_moved_is_looked_for_again() -> None:
    answer, seconds = asked([MOVED, Disconnected("died"), MOVED])
    assert answer == 7 and 0.0 < seconds < 1.0


@pytest.mark.parametrize(("kind", "about"), [(0, "group billing"), (TRANSACTION, "billing")])
@pytest.mark.parametrize("error", [MOVED, Disconnected("died")])
def test_a_coordinator_that_is_never_found_is_given_up(error: Exception, kind: int, about: str) -> None:
    answer, seconds = asked(repeat(error), kind)
    assert isinstance(answer, Refused) and answer.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert answer.message == f"no broker coordinates {about} at the moment"
    assert MOVED_COORDINATOR_SECONDS_MAX - 1.0 <= seconds <= MOVED_COORDINATOR_SECONDS_MAX


def test_a_refusal_that_stays_and_a_cluster_that_is_gone_are_told_at_once() -> None:
    refused = Refused(ErrorCode.GROUP_ID_NOT_FOUND, "there is none")
    assert asked([refused]) == (refused, 0.0)
    answer, seconds = asked([Disconnected("died")], admin=Brokers(is_alone=True))
    assert (str(answer), seconds) == ("nobody answers", 0.0)
