"""The short form of `make fuzz`: the same few rounds every time."""

import pytest

from fuzz.fuzz_wire import run_round


@pytest.mark.parametrize("seed", range(10))
def test_damaged_bytes_are_refused_cleanly(seed):
    assert run_round(seed) > 100
