"""The target of `group reset`, as its options say it: exactly one of them."""

import csv
import time
from pathlib import Path

from headrace.admin.reset import ResetTarget
from headrace.base.ids import TopicPartition
from headrace.base.moments import parse_duration, parse_time
from headrace.cli.failure import ExitCode, Failure


def choose_target(
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    to_time: str | None,
    by_duration: str | None,
    shift_by: int | None,
    from_file: Path | None,
) -> ResetTarget:
    targets = [
        ResetTarget("earliest") if to_earliest else None,
        ResetTarget("latest") if to_latest else None,
        None if to_offset is None else ResetTarget("offset", to_offset),
        None if to_time is None else ResetTarget("time", _moment(to_time)),
        None if by_duration is None else ResetTarget("time", round(time.time() * 1000) - _duration(by_duration)),
        None if shift_by is None else ResetTarget("shift", shift_by),
        None if from_file is None else ResetTarget("each", offsets=read_offsets(from_file)),
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


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError:
        raise Failure(
            f"--by-duration {text}: this is no duration", "write 90s, 15m, 2h30m, 7d or PT2H", ExitCode.USAGE
        ) from None


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
