"""When a delivery is tried again, and when it is given up."""

import pytest

from headrace.gateway.webhooks.retry import Answer, Done, GiveUp, RetryPolicy, TryAgain, decide, wait_ms

POLICY = RetryPolicy(tries_max=3, wait_ms=100, wait_ms_max=1000)


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_success_is_done(status: int) -> None:
    assert decide(POLICY, 3, Answer(status), 0.5) == Done()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(500), "HTTP 500"),
        (Answer(404, "no such thing"), "HTTP 404: no such thing"),
        (Answer(302), "HTTP 302: redirects are not followed"),
        (Answer(0, "no answer within 10 s"), "no answer within 10 s"),
        (Answer(199), "HTTP 199"),
    ],
)
def test_anything_else_is_tried_again_and_then_given_up(answer: Answer, reason: str) -> None:
    assert decide(POLICY, 1, answer, 0.0) == TryAgain(100, reason)
    assert decide(POLICY, 2, answer, 0.0) == TryAgain(200, reason)
    assert decide(POLICY, 3, answer, 0.0) == GiveUp(reason)


def test_waits_double_up_to_a_limit() -> None:
    assert [wait_ms(POLICY, tries, 0.0) for tries in range(1, 7)] == [100, 200, 400, 800, 1000, 1000]
    assert wait_ms(POLICY, 10**6, 0.0) == 1000


def test_chance_takes_up_to_half_away() -> None:
    waits = [wait_ms(POLICY, 1, chance / 100) for chance in range(100)]
    assert (min(waits), max(waits)) == (50, 100)
    assert len(set(waits)) > 40


def test_a_receiver_may_ask_for_more_time_within_the_limit() -> None:
    assert wait_ms(POLICY, 1, 0.0, asked_ms=700) == 700
    assert wait_ms(POLICY, 1, 0.0, asked_ms=10**9) == 1000
    assert wait_ms(POLICY, 4, 0.0, asked_ms=1) == 800
