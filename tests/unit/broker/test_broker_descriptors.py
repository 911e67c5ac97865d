"""Descriptors are shared out before they run out: connections get what files do not need."""

import pytest

from headrace.broker.net.descriptors import FILES_MAX, RESERVED, Descriptors


@pytest.mark.parametrize("limit", [64, 256, 1024, 20_000, 1 << 20])
def test_files_and_connections_together_stay_below_the_limit(limit: int) -> None:
    descriptors = Descriptors(limit)
    assert descriptors.left >= 1
    assert descriptors.files_max <= FILES_MAX
    if limit > 4 * RESERVED:
        assert descriptors.left + descriptors.files_max + RESERVED <= limit


def test_none_is_given_twice() -> None:
    descriptors = Descriptors(400)
    taken = 0
    while descriptors.take():
        taken += 1
    assert taken == 400 - 100 - RESERVED
    descriptors.give_back()
    assert descriptors.take()
    assert not descriptors.take()
