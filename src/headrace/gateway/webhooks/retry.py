"""The step after a try to deliver: done, another try after a while, or the dead letters. A calculation.

The wait is that of `client.retry`, so that lanes that failed together do not come back together. A receiver may ask for
more time (Retry-After), but not for more than the longest wait.
"""

from typing import NamedTuple

from headrace.client.retry import pause_seconds


class RetryPolicy(NamedTuple):
    tries_max: int = 12
    wait_ms: int = 500
    wait_ms_max: int = 300_000


class Answer(NamedTuple):
    """The answer to a try: an HTTP status, or 0 and the reason why there was none."""

    status: int
    reason: str = ""
    retry_after_ms: int = 0

    @property
    def is_accepted(self) -> bool:
        return 200 <= self.status < 300


class Done(NamedTuple):
    pass


class TryAgain(NamedTuple):
    wait_ms: int
    reason: str


class GiveUp(NamedTuple):
    reason: str


Verdict = Done | TryAgain | GiveUp


def decide(policy: RetryPolicy, tries: int, answer: Answer, chance: float) -> Verdict:
    """`tries` counts the one that was answered; `chance` is uniform in [0, 1)."""
    if answer.is_accepted:
        return Done()
    reason = describe(answer)
    if tries >= policy.tries_max:
        return GiveUp(reason)
    return TryAgain(wait_ms(policy, tries, chance, answer.retry_after_ms), reason)


def wait_ms(policy: RetryPolicy, tries: int, chance: float, asked_ms: int = 0) -> int:
    first, longest = policy.wait_ms / 1000, policy.wait_ms_max / 1000
    own_ms = round(1000 * pause_seconds(tries, first=first, longest=longest, chance=lambda: chance))
    return max(own_ms, min(asked_ms, policy.wait_ms_max))


def describe(answer: Answer) -> str:
    if not answer.status:
        return answer.reason
    if 300 <= answer.status < 400:
        return f"HTTP {answer.status}: redirects are not followed"
    return f"HTTP {answer.status}{': ' + answer.reason if answer.reason else ''}"
