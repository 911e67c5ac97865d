import pytest

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.start_at import StartAt, first_offset, parse_start


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", StartAt("earliest")),
        ("latest", StartAt("latest")),
        ("0", StartAt("offset", 0)),
        ("1200", StartAt("offset", 1200)),
        ("-10", StartAt("tail", 10)),
        ("@1769860800123", StartAt("time", 1769860800123)),
        ("@1769860800", StartAt("time", 1769860800000)),
        ("@2026-01-31T12:00:00+00:00", StartAt("time", 1769860800000)),
        ("@2026-01-31T12:00:00.250Z", StartAt("time", 1769860800250)),
        ("@2026-01-31T13:00:00+01:00", StartAt("time", 1769860800000)),
    ],
)
def test_reads_every_way_to_name_a_place(text: str, expected: StartAt) -> None:
    assert parse_start(text) == expected


@pytest.mark.parametrize("text", ["", "begin", "--3", "-", "@", "@yesterday", "1.5", "+4"])
def test_refuses_what_is_no_place(text: str) -> None:
    with pytest.raises(Failure) as refused:
        parse_start(text)
    assert refused.value.code is ExitCode.USAGE
    assert "earliest" in refused.value.fix


@pytest.mark.parametrize(
    ("start", "by_time", "expected"),
    [
        (StartAt("earliest"), None, 5),
        (StartAt("latest"), None, 20),
        (StartAt("tail", 3), None, 17),
        (StartAt("tail", 1000), None, 5),
        (StartAt("time", 1), 9, 9),
        (StartAt("time", 1), None, 20),
        (StartAt("offset", 7), None, 7),
    ],
)
def test_first_offset_stays_inside_the_partition(start: StartAt, by_time: int | None, expected: int) -> None:
    assert first_offset(start, earliest=5, end=20, by_time=by_time) == expected


def test_only_latest_waits_by_itself() -> None:
    assert parse_start("latest").follows
    assert not parse_start("-5").follows
