"""Where `group reset` moves a group to, as its options say it: exactly one of them."""

import csv
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from headrace.base.ids import TopicPartition
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.start_at import parse_time

_DURATION = re.compile(r"p?(?:(\d+)d)?t?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.IGNORECASE)
_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1_000)


class Target(NamedTuple):
    kind: Literal["earliest", "latest", "offset", "time", "shift", "file"]
    number: int = 0
    offsets: Mapping[TopicPartition, int] = {}
    """Only of a file."""

    def offset(self, id: TopicPartition, before: int | None, start: int, end: int, at_time: int | None) -> int:
        """Always inside what the partition holds: a commit beyond it would make consumers start where they please."""
        match self.kind:
            case "earliest":
                return start
            case "latest":
                return end
            case "time":
                return end if at_time is None else at_time
            case "shift":
                if before is None:
                    raise Failure(
                        f"{id} has no commit to shift", "name where to go, as with --to-earliest", ExitCode.USAGE
                    )
                return min(max(before + self.number, start), end)
            case "offset":
                return min(max(self.number, start), end)
            case "file":
                return min(max(self.offsets[id], start), end)


def choose_target(
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    to_time: str | None,
    by_duration: str | None,
    shift_by: int | None,
    from_file: Path | None,
) -> Target:
    targets = [
        Target("earliest") if to_earliest else None,
        Target("latest") if to_latest else None,
        None if to_offset is None else Target("offset", to_offset),
        None if to_time is None else Target("time", _moment(to_time)),
        None if by_duration is None else Target("time", round(time.time() * 1000) - parse_duration(by_duration)),
        None if shift_by is None else Target("shift", shift_by),
        None if from_file is None else Target("file", offsets=read_offsets(from_file)),
    ]
    chosen = [target for target in targets if target is not None]
    if len(chosen) != 1:
        raise Failure(
            "say where to go" if not chosen else "say one place to go",
            "give one of --to-earliest, --to-latest, --to-offset, --to-time, --by-duration, --shift-by, --from-file",
            ExitCode.USAGE,
        )
    return chosen[0]


def _moment(text: str) -> int:
    try:
        return parse_time(text)
    except ValueError:
        raise Failure(
            f"--to-time {text}: this is no time", "write 2026-01-31T12:00, or epoch ms", ExitCode.USAGE
        ) from None


def parse_duration(text: str) -> int:
    """In milliseconds."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise Failure(f"--by-duration {text}: this is no duration", "write 90s, 15m, 2h30m, 7d or PT2H", ExitCode.USAGE)
    return sum(int(count) * unit for count, unit in zip(found.groups(), _UNITS_MS, strict=True) if count)


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    try:
        with path.open(newline="") as lines:
            rows = [row for row in csv.reader(lines) if row]
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}", "name a file that can be read", ExitCode.NOT_FOUND) from None
    offsets = {}
    for number, row in enumerate(rows, 1):
        try:
            topic, partition, offset = row
            offsets[TopicPartition(topic.strip(), int(partition))] = int(offset)
        except ValueError:
            raise Failure(
                f"{path}, line {number}: this is not topic,partition,offset",
                "write one such line for each partition",
                ExitCode.USAGE,
            ) from None
    return offsets
