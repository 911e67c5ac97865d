"""Fetching brokers' pages: from the addresses in the settings, or else from where brokers serve them by default.

A page says whose it is (`headrace_broker_info`), so an address needs no number. A broker that was seen once and does not
answer is missing, until it is seen again or is gone from the cluster for good.
"""

import asyncio
from collections.abc import Sequence

import httpx

from headrace.admin.admin import Admin
from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.monitor.page import Labels, Page, read_lines
from headrace.gateway.monitor.sight import INFO, WANTED
from headrace.wire.messages.cluster import DescribeClusterBroker

PORT = 9464
SCRAPE_SECONDS_MAX = 10.0
LINES_PER_TURN = 2000


class Scraper:
    def __init__(self, admin: Admin, addresses: Sequence[str]) -> None:
        self._admin = admin
        self._addresses = addresses
        self._http = httpx.AsyncClient(timeout=SCRAPE_SECONDS_MAX, trust_env=False)
        self._known: dict[int, str] = {}
        self.is_answered = False
        """Whether the cluster itself answered at the last look, whatever became of its pages."""

    async def close(self) -> None:
        await self._http.aclose()

    @property
    def known(self) -> frozenset[int]:
        """Brokers that answered at some time."""
        return frozenset(self._known)

    async def pages(self) -> dict[int, Page]:
        brokers = await self._registered()
        addresses = self._addresses or [f"{each.host}:{PORT + each.broker_id - 1}" for each in brokers]
        found = await asyncio.gather(*map(self._page, addresses))
        return dict(each for each in found if each is not None)

    async def text(self, broker: int) -> str | None:
        """The whole page of one, as it is."""
        address = self._known.get(broker)
        return None if address is None else await self._fetch(address)

    async def _registered(self) -> Sequence[DescribeClusterBroker]:
        """The registered brokers, or none while no broker answers; forgets the address of a broker that left for good."""
        try:
            async with asyncio.timeout(SCRAPE_SECONDS_MAX):
                brokers = (await self._admin.describe_cluster()).brokers
        except (Disconnected, Refused, TimeoutError):
            self.is_answered = False
            return ()
        self.is_answered = True
        registered = {each.broker_id for each in brokers}
        self._known = {each: address for each, address in self._known.items() if each in registered}
        return brokers

    async def _page(self, address: str) -> tuple[int, Page] | None:
        text = await self._fetch(address)
        if text is None:
            return None
        page = await _read(text)
        info: Labels = next(iter(page.get(INFO, {})), ())
        broker = dict(info).get("broker", "")
        if not broker.isdecimal():
            return None
        self._known[int(broker)] = address
        return int(broker), page

    async def _fetch(self, address: str) -> str | None:
        try:
            reply = await self._http.get(f"http://{address}/metrics")
        except httpx.HTTPError:
            return None
        return reply.text if reply.status_code == httpx.codes.OK else None


async def _read(text: str) -> dict[str, dict[Labels, float]]:
    """A large cluster's page has tens of thousands of lines: others have their turn in between."""
    lines = text.splitlines()
    page: dict[str, dict[Labels, float]] = {}
    for first in range(0, len(lines), LINES_PER_TURN):
        for name, samples in read_lines(lines[first : first + LINES_PER_TURN], WANTED).items():
            page.setdefault(name, {}).update(samples)
        await asyncio.sleep(0)
    return page
