"""Counters become rates: how much each grew since it was last seen, by the second.

A counter that fell was set back by a restart: what it shows is then what it grew by. One that is seen for the first time
says nothing yet. A broker that did not answer for a while is compared with what it said last.
"""

from collections.abc import Iterable, Iterator

from headrace.gateway.monitor.page import Labels, Page


class Counters:
    def __init__(self) -> None:
        self._seen: dict[int, tuple[float, Page]] = {}

    def rates(self, broker: int, page: Page, names: Iterable[str], at: float) -> Iterator[tuple[str, Labels, float]]:
        """(name, labels, growth a second) of all counters on the page that were there before."""
        then, before = self._seen.get(broker, (at, page))
        self._seen[broker] = (at, page)
        if at <= then:
            return
        for name in names:
            known = before.get(name, {})
            for labels, value in page.get(name, {}).items():
                # A topic that is new on a broker that we know began at nothing.
                last = known.get(labels, 0.0)
                yield name, labels, (value - last if value >= last else value) / (at - then)
