"""The place where a job goes on: what its result says, if the topic still has that. A calculation.

A topic may have lost records since (retention), or be another than it was (made anew): neither is passed over in silence.
"""

from collections.abc import Mapping
from typing import NamedTuple

from headrace.base.errors import UserError
from headrace.pipelines.kafka import TopicBounds
from headrace.pipelines.ranges import Offsets


class Resumed(NamedTuple):
    start: Offsets
    lost: int
    """Offsets that retention had deleted before they were read."""


def resume(view: TopicBounds, known: Mapping[int, int], allow_loss: bool) -> Resumed:
    """`known` are the next offsets by the job's own account; partitions it does not know begin where they begin."""
    start = {partition: known.get(partition, first) for partition, first in view.start.items()}
    for partition, end in view.end.items():
        if start[partition] > end:
            raise UserError(
                f"partition {partition} of {view.topic} was read up to offset {start[partition]}, and now ends at {end}",
                "records are gone from its end, or it was made anew: write to a new place",
            )
    lost = {p: (start[p], first) for p, first in view.start.items() if start[p] < first}
    if lost and not allow_loss:
        ranges = ", ".join(f"partition {p}: {first} to {limit - 1}" for p, (first, limit) in lost.items())
        raise UserError(
            f"records of {view.topic} were deleted by retention before they were read ({ranges})",
            "--allow-data-loss goes on without them, and reports how many",
        )
    return Resumed(start | {p: limit for p, (_, limit) in lost.items()}, sum(b - a for a, b in lost.values()))
