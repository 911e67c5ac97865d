"""Amounts as people write them."""

import pytest

from headrace.base.units import (
    bytes_text,
    count_text,
    parse_bits_per_second,
    parse_byte_rate,
    parse_bytes,
    parse_rate,
    parse_seconds,
    seconds_text,
    size_text,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1M/s", 1e6), ("1M", 1e6), ("500k/s", 5e5), ("120/min", 2), ("86,400/d", 1), ("2.5M/s", 2.5e6), ("1_000/s", 1e3)],
)
def test_rates(text: str, value: float) -> None:
    assert parse_rate(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1KB", 1e3),
        ("1kb", 1e3),
        ("1kB", 1e3),
        ("512", 512),
        ("200 B", 200),
        ("1KiB", 1024),
        ("16TB", 16e12),
        ("10k", 1e4),
    ],
)
def test_sizes(text: str, value: float) -> None:
    assert parse_bytes(text) == value


@pytest.mark.parametrize(("text", "value"), [("7d", 604_800), ("12h", 43_200), ("30min", 1800), ("2w", 1_209_600)])
def test_times(text: str, value: float) -> None:
    assert parse_seconds(text) == value


@pytest.mark.parametrize(("text", "value"), [("50MB/s", 5e7), ("50 MiB/s ", 50 << 20), ("1048576", 1 << 20)])
def test_rates_of_bytes(text: str, value: float) -> None:
    assert parse_byte_rate(text) == value


@pytest.mark.parametrize("text", ["25Gb/s", "25Gbps", "25G", "25Gbit/s"])
def test_line_rates_are_in_bits(text: str) -> None:
    assert parse_bits_per_second(text) == 25e9 / 8


@pytest.mark.parametrize("text", ["", "x", "1M/x", "-1/s", "0/s", "1e9999", "1MB/s", "/s", "nan", "9" * 400])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rate(text)


def test_amounts_are_short() -> None:
    assert [bytes_text(count) for count in (0, 999, 1e3, 86.4e12, 604.8e12, 1.8144e15)] == [
        "0 B",
        "999 B",
        "1 KB",
        "86.4 TB",
        "605 TB",
        "1.81 PB",
    ]
    assert count_text(1e6) == "1 M"
    assert [seconds_text(seconds) for seconds in (60, 7200, 604_800)] == ["60 s", "2 hours", "7 days"]


def test_sizes_of_the_command_line() -> None:
    assert [size_text(n) for n in (0, 999, 1500, 123_456, 5_000_000_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "123 kB",
        "5.0 GB",
    ]
