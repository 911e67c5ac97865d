"""Places in partitions: where a batch begins, and where it ends."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from headrace.api.message import Message

Places = dict[tuple[str, int], int]
Seek = int | datetime | Literal["earliest", "latest"]


def places_at(batch: Sequence[Message]) -> Places:
    """The first offset of each partition: from there it is read again, if it is not finished."""
    first: Places = {}
    for each in batch:
        first.setdefault((each.topic, each.partition), each.offset)
    return first


def places_after(batch: Sequence[Message]) -> Places:
    """The offset after the last of each partition: what is committed, if it is."""
    return {(each.topic, each.partition): each.offset + 1 for each in batch}
