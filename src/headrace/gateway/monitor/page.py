"""A page of Prometheus text, read: name → labels → value. Only names that are wanted, since most of a page is not."""

import re
from collections.abc import Collection, Iterable, Mapping

Labels = tuple[tuple[str, str], ...]
"""In order of their names."""
Page = Mapping[str, Mapping[Labels, float]]

_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


def read_lines(lines: Iterable[str], wanted: Collection[str]) -> dict[str, dict[Labels, float]]:
    page: dict[str, dict[Labels, float]] = {}
    for line in lines:
        if line.startswith("#"):
            continue
        name_and_labels, _, value = line.rpartition(" ")
        name, _, labels = name_and_labels.partition("{")
        if name in wanted:
            page.setdefault(name, {})[_labels(labels)] = float(value)
    return page


def labels_of(labels: Mapping[str, object]) -> Labels:
    return tuple(sorted((name, str(value)) for name, value in labels.items()))


def _labels(text: str) -> Labels:
    return tuple(sorted((name, _plain(value)) for name, value in _LABEL.findall(text)))


def _plain(value: str) -> str:
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], value) if "\\" in value else value
