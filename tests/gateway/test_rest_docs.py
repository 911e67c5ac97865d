"""Every command in the pages about HTTP does what stands below it, in the order of the page; and nothing goes unshown."""

import functools
import re
import tempfile
from pathlib import Path

import httpx
import pytest
from gateway_process import GatewayProcess
from page_commands import Exchange, run_page
from receiver import Receiver

from eventually import until
from headrace.testing import Cluster

PAGES = {"rest.md": 1, "rest-admin.md": 2, "push.md": 1, "monitoring.md": 1}
"""And how many brokers each is run before."""
SETTINGS = {
    "default.replication.factor": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "group.initial.rebalance.delay.ms": 0,
}


@functools.cache
def exchanges(page: str) -> list[Exchange]:
    with tempfile.TemporaryDirectory() as directory, Cluster(PAGES[page], SETTINGS) as cluster:
        home = Path(directory)
        metrics = ",".join(httpx.URL(cluster.metrics_url(each)).netloc.decode() for each in cluster.ids)
        limits = ("--set", "webhook_networks=127.0.0.0/8", "--set", "scrape_seconds=0.2")
        gateway = GatewayProcess(cluster.bootstrap, "--set", f"broker_metrics={metrics}", *limits).start()
        receiver = Receiver(home).start()
        try:
            until_watched(gateway)
            here = {"localhost:8080": f"127.0.0.1:{gateway.port}", "https://example.com/hook": receiver.url}
            return run_page(page, here, home)
        finally:
            receiver.kill()
            gateway.stop()


def until_watched(gateway: GatewayProcess) -> None:
    until(
        lambda: httpx.get(f"{gateway.url}/metrics", trust_env=False).text,
        lambda page: 'headrace_broker_up{broker="1"} 1' in page,
        otherwise="the gateway saw no metrics of the broker",
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page(page: str) -> None:
    assert exchanges(page)


def test_every_path_of_the_description_is_shown(http: httpx.Client) -> None:
    """A command counts that was run, and answered with more than a problem."""
    asked = [each for page in PAGES for each in exchanges(page) if each.status < 400]
    missing = [
        f"{method.upper()} {path}"
        for path, methods in http.get("/openapi.json").json()["paths"].items()
        for method in methods
        if not any(each.method == method.upper() and is_at(each.path, path) for each in asked)
    ]
    assert missing == []


def is_at(path: str, template: str) -> bool:
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path) is not None


def test_both_dialects_stand_in_the_first_page() -> None:
    asked = {(each.method, each.path) for each in exchanges("rest.md") if each.status < 400}
    assert asked >= {
        ("POST", "/api/v1/topics/orders/messages"),
        ("GET", "/api/v1/topics/orders/partitions/0/messages"),
        ("POST", "/api/v1/consumer-groups/billing/offsets"),
        ("POST", "/topics/orders/messages"),
        ("GET", "/topics/orders/messages"),
        ("POST", "/consumer/commit"),
    }
