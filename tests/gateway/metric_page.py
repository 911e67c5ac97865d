"""A page of Prometheus text, asked for one value, until it is as it should be."""

import re
import urllib.request

from gateway_process import SECONDS


def page_at(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as page:
        return page.read().decode()


def value_on(page: str, name: str, **labels: str) -> float:
    for found, value in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", page, re.MULTILINE):
        if labels.items() <= dict(re.findall(r'(\w+)="(.*?)"', found)).items():
            return float(value)
    raise AssertionError(f"there is no {name} {labels}")
