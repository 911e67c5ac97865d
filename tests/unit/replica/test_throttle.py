from headrace.replica.throttle import UNLIMITED, Throttle


def copied(throttle: Throttle, answer_bytes: int, seconds: int, step: float = 0.1) -> int:
    """What comes through when it is asked ten times a second and every answer has as many bytes."""
    total = 0
    for tick in range(int(seconds / step)):
        if throttle.is_open(tick * step):
            throttle.take(answer_bytes)
            total += answer_bytes
    return total


def test_over_time_the_rate_holds_for_small_answers_and_for_large_ones() -> None:
    for answer_bytes in (500, 1_000, 4_000):
        total = copied(Throttle(1_000), answer_bytes, seconds=100)
        assert 95_000 <= total <= 101_000 + answer_bytes, (answer_bytes, total)
    assert copied(Throttle(1_000), 10, seconds=100) == 10_000, "asked for less than it may have, nothing waits"


def test_what_was_not_used_is_kept_for_one_second_only() -> None:
    throttle = Throttle(1_000)
    assert throttle.is_open(3_600.0)
    throttle.take(2_000)
    assert not throttle.is_open(3_600.9)
    assert throttle.is_open(3_601.1)


def test_a_huge_answer_silences_nobody_for_long() -> None:
    throttle = Throttle(1)
    assert throttle.is_open(0.0)
    throttle.take(1 << 20)
    assert not throttle.is_open(9.0)
    assert throttle.is_open(11.0)


def test_a_new_rate_counts_at_once() -> None:
    throttle = Throttle(10)
    assert throttle.is_open(0.0)
    throttle.take(110)
    assert not throttle.is_open(1.0)
    throttle.set_rate(UNLIMITED)
    assert throttle.is_open(1.0)
    throttle.set_rate(100)
    assert throttle.is_open(3.0)


def test_it_knows_how_long_it_was_closed() -> None:
    throttle = Throttle(100)
    assert throttle.is_open(0.0)
    throttle.take(300)
    assert not throttle.is_open(1.0)
    assert throttle.closed_seconds == 1.0
    assert throttle.is_open(60.0), "nobody asked for long"
    assert throttle.closed_seconds == 2.0, "it was open for most of that time"
