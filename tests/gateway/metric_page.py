"""A page of Prometheus text, asked for one value, until it is as it should be."""

import re
import time
import urllib.request
from collections.abc import Callable

from gateway_process import SECONDS


def page_at(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECONDS) as page:
        return page.read().decode()


def value_on(page: str, name: str, **labels: str) -> float:
    for found, value in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", page, re.MULTILINE):
        if labels.items() <= dict(re.findall(r'(\w+)="(.*?)"', found)).items():
            return float(value)
    raise AssertionError(f"there is no {name} {labels}")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)
