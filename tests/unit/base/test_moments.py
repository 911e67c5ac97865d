"""Durations as people write them. (Moments: test_cli_start_at.)"""

import pytest

from headrace.base.moments import parse_duration


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("2h30m", 9_000_000), ("7d", 604_800_000), ("PT2H", 7_200_000), ("P1DT1S", 86_401_000)],
)
def test_durations(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "soon", "P", "PT", "5", "-1h", "1w"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)
