"""A page of Prometheus text, asked for one value."""

import re


def value_on(page: str, name: str, **labels: str) -> float:
    for found, value in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", page, re.MULTILINE):
        if labels.items() <= dict(re.findall(r'(\w+)="(.*?)"', found)).items():
            return float(value)
    raise AssertionError(f"there is no {name} {labels}")
