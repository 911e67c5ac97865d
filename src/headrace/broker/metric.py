"""One metric of the `/metrics` page, with all its samples."""

from collections.abc import Iterable
from typing import NamedTuple


class Metric(NamedTuple):
    name: str
    kind: str
    help: str
    samples: Iterable[tuple[str, float]]
