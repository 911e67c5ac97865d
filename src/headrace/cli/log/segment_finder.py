"""The segment files that a person means: one file, a partition's directory, or DATA TOPIC PARTITION.

DATA/broker-1/logs/orders-0/00000000000000000000.log
"""

from pathlib import Path

from headrace.cli.failure import ExitCode, Failure


def find_segments(path: Path, topic: str | None, partition: int | None) -> list[Path]:
    if not path.exists():
        raise Failure(
            f"{path} does not exist",
            "give a segment file, a partition's directory, or DATA TOPIC PARTITION",
            ExitCode.NOT_FOUND,
        )
    if topic is not None:
        return [
            segment
            for directory in partition_directories(path, topic, partition)
            for segment in _segments_in(directory)
        ]
    if path.is_file():
        return [_require_name(path)]
    found = _segments_in(path)
    if not found:
        raise Failure(
            f"{path} holds no segments",
            "name topic and partition too: headrace log dump DATA TOPIC PARTITION",
            ExitCode.NOT_FOUND,
        )
    return found


def partition_directories(data: Path, topic: str, partition: int | None) -> list[Path]:
    """Every replica below the data root, or the one of a broker's own directory."""
    roots = [data / "logs", *sorted(data.glob("broker-*/logs"))]
    names = f"{topic}-{'[0-9]*' if partition is None else partition}"
    found = [
        directory for root in roots for directory in sorted(root.glob(names), key=_number) if _is_of(directory, topic)
    ]
    if not found:
        what = f"partition {partition} of {topic}" if partition is not None else f"topic {topic}"
        raise Failure(
            f"{data} holds no {what}", "check --data of the broker, and `headrace topic describe`", ExitCode.NOT_FOUND
        )
    return found


def _is_of(directory: Path, topic: str) -> bool:
    return directory.name.removeprefix(f"{topic}-").isdecimal()


def _number(directory: Path) -> tuple[int, str]:
    tail = directory.name.rpartition("-")[2]
    return (int(tail) if tail.isdecimal() else 0, directory.name)


def _segments_in(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.log") if path.stem.isdecimal())


def _require_name(path: Path) -> Path:
    if path.suffix != ".log" or not path.stem.isdecimal():
        raise Failure(
            f"{path.name} is not named like a segment", "a segment is BASE_OFFSET.log, 20 digits", ExitCode.USAGE
        )
    return path
