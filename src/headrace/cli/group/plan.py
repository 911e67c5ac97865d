"""A reset as people see it before they agree, and what `--topic` says of it."""

from collections.abc import Sequence
from typing import Any

from headrace.admin.reset import Reset
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, show_rows


def reset_view(group: str, resets: Sequence[Reset], applied: bool) -> dict[str, Any]:
    return {"group": group, "applied": applied, "partitions": [reset.view() for reset in resets]}


def show_resets(resets: Sequence[Reset]) -> None:
    columns = {
        "topic": "TOPIC",
        "partition": "PARTITION",
        "before": "NOW",
        "after": "THEN",
        "skipped": "SKIPPED",
        "repeated": "REPEATED",
    }
    show_rows([reset.view() for reset in resets], columns)
    skipped, repeated = sum(each.skipped for each in resets), sum(each.repeated for each in resets)
    print(f"\n{count_of(skipped, 'message')} would be skipped, {count_of(repeated, 'message')} read again")


def parse_chosen(texts: Sequence[str]) -> dict[str, set[int] | None]:
    """TOPIC or TOPIC:0,1,…; one that is named twice has the partitions of both."""
    chosen: dict[str, set[int] | None] = {}
    for text in texts:
        topic, _, numbers = text.partition(":")
        partitions = _numbers(text, numbers) if numbers else None
        before = chosen.get(topic, set())
        chosen[topic] = None if partitions is None or before is None else before | partitions
    return chosen


def _numbers(text: str, numbers: str) -> set[int]:
    try:
        return {int(number) for number in numbers.split(",")}
    except ValueError:
        raise Failure(f"--topic {text}: this is not TOPIC:0,1,…", "write --topic orders:0,2", ExitCode.USAGE) from None
