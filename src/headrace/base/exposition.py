"""Prometheus text, written by hand: the client library would cost every broker 16 MB and 140 ms for a few lines.

Only the format is here. The owners of the counters (`base.probe`, `broker.metrics`, the gateway) decide what is
counted.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headrace.base.probe import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Metric(NamedTuple):
    name: str
    kind: str
    help: str
    samples: Iterable[tuple[str, float]]
    """Each sample's value, with the text between name and value: its labels, for a histogram its suffix too."""


def render(metrics: Iterable[Metric]) -> str:
    lines: list[str] = []
    for metric in metrics:
        lines += (f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}")
        lines += [f"{metric.name}{labels} {value}" for labels, value in metric.samples]
    return "\n".join(lines) + "\n"


def labels_of(**labels: object) -> str:
    return "{" + ",".join(f'{name}="{str(value).translate(_ESCAPED)}"' for name, value in labels.items()) + "}"


def histogram_samples(histogram: Histogram, **labels: object) -> Iterator[tuple[str, float]]:
    below = 0
    for bound, count in zip(Histogram.BOUNDS, histogram.counts, strict=False):
        below += count
        yield "_bucket" + labels_of(**labels, le=f"{bound:g}"), below
    total = histogram.count
    plain = labels_of(**labels) if labels else ""
    yield "_bucket" + labels_of(**labels, le="+Inf"), total
    yield "_sum" + plain, histogram.seconds
    yield "_count" + plain, total
