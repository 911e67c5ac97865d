"""Who counts as missing when pages stay away: only brokers that are still part of the cluster."""

import asyncio

import pytest

from headrace.admin.admin import Admin
from headrace.client.connection import Disconnected
from headrace.gateway.monitor.scrape import Scraper
from headrace.wire.messages.cluster import DescribeClusterBroker, DescribeClusterResponse

ADDRESSES = {"a:9464": 1, "b:9465": 2}


class SaidCluster(Admin):
    """Has the brokers that a test says; None is a cluster that does not answer."""

    registered: tuple[int, ...] | None = (1, 2)

    async def describe_cluster(self) -> DescribeClusterResponse:
        if self.registered is None:
            raise Disconnected("nobody")
        return DescribeClusterResponse(
            brokers=[DescribeClusterBroker(each, "ab"[each - 1], 9092) for each in self.registered]
        )


class SaidPages(Scraper):
    silent: frozenset[str] = frozenset()

    async def _fetch(self, address: str) -> str | None:
        return None if address in self.silent else f'headrace_broker_info{{broker="{ADDRESSES[address]}"}} 1\n'


@pytest.mark.parametrize("addresses", [(), tuple(ADDRESSES)], ids=["default", "broker_metrics"])
def test_a_broker_that_left_the_cluster_is_not_missed(addresses: tuple[str, ...]) -> None:
    async def look() -> None:
        admin = SaidCluster([], "test")
        scraper = SaidPages(admin, addresses)
        assert (await scraper.pages()).keys() == {1, 2}
        scraper.silent = frozenset({"b:9465"})
        assert (await scraper.pages()).keys() == {1}
        assert scraper.known == {1, 2} and scraper.is_answered, "registered, and silent"
        admin.registered = None
        await scraper.pages()
        assert scraper.known == {1, 2} and not scraper.is_answered, "nobody says that it left"
        admin.registered = (1,)
        assert (await scraper.pages()).keys() == {1}
        assert scraper.known == {1}
        await scraper.close()

    asyncio.run(look())
