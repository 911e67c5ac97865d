"""A walk through the UI before four brokers, as an operator takes it; one broker dies while it looks.

HEADRACE_SCREENSHOTS=docs/images keeps the pictures that it takes on the way: those of README.md and docs/ui.md.
"""

import json
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from playwright.sync_api import expect

from browser.pages import Pages
from gateway.gateway_process import GatewayProcess
from headrace.gateway.ui.jobs import MARK
from headrace.testing import Cluster

TOPIC = "shop.orders"
MADE = "shop.returns"
GROUP = "billing"
JOB = "nightly-report"
SLOW_MS = 90_000

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


class Shop:
    """Somebody who writes all the time, and a group that reads a little slower, until it is told to stop."""

    def __init__(self, bootstrap: str) -> None:
        self._config = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._stopping = threading.Event()
        self._closed = threading.Event()
        self._threads = [threading.Thread(target=self._write), threading.Thread(target=self._read)]
        for thread in self._threads:
            thread.start()

    def _write(self) -> None:
        producer = Producer({**self._config, "linger.ms": 20, "message.timeout.ms": 60_000})
        number = 0
        while not self._stopping.is_set():
            for _ in range(random.Random(number).randint(3, 9)):
                number += 1
                order = {
                    "order": number,
                    "customer": f"customer-{number % 40}",
                    "amount": round(number * 7.13 % 250, 2),
                }
                producer.produce(TOPIC, json.dumps(order), key=order["customer"], headers={"source": "web"})
            producer.poll(0)
            self._stopping.wait(0.1)
        producer.flush(30)

    def _read(self) -> None:
        consumer = Consumer(
            {**self._config, "group.id": GROUP, "client.id": "billing-1", "auto.offset.reset": "earliest"}
            | {"auto.commit.interval.ms": 500}
        )
        consumer.subscribe([TOPIC])
        while not self._stopping.is_set() and not self._closed.is_set():
            consumer.consume(5, 0.2)
            self._stopping.wait(0.1)
        consumer.close()

    def close_reader(self) -> None:
        self._closed.set()
        self._threads[1].join(60)

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(4, {"num.partitions": 3, "auto.create.topics.enable": "true"}) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(cluster: Cluster) -> Iterator[GatewayProcess]:
    metrics = ",".join(f"127.0.0.1:{cluster.options(number).metrics_port}" for number in cluster.ids)
    told = {"broker_metrics": metrics, "scrape_seconds": "1", "webhook_networks": "127.0.0.0/8"}
    arguments = [word for name, value in told.items() for word in ("--set", f"{name}={value}")]
    running = GatewayProcess(cluster.bootstrap, *arguments).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def shop(cluster: Cluster) -> Iterator[Shop]:
    running = Shop(cluster.bootstrap)
    yield running
    running.stop()


@pytest.fixture
def pages(gateway: GatewayProcess, shop: Shop, open_pages: Callable[..., Pages]) -> Pages:
    return open_pages(gateway.url)


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Pages, str], None]:
    wanted = os.environ.get("HEADRACE_SCREENSHOTS")
    folder = Path(wanted) if wanted else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)

    def take(pages: Pages, name: str) -> None:
        if wanted:
            # A line over time wants some time.
            time.sleep(20)
        pages.picture(folder / f"{name}.png")

    return take


Take = Callable[[Pages, str], None]


def test_a_topic_is_made_written_to_and_seen_live(pages: Pages) -> None:
    pages.open("/ui/topics", "Topics")
    pages.press("Create topic")
    pages.fill("Name", MADE, pages.dialog)
    pages.fill("Partitions", "3", pages.dialog)
    pages.fill("Replicas", "3", pages.dialog)
    pages.press("Create topic", pages.dialog)
    pages.see_title(MADE)
    expect(pages.row("Partitions", "in sync")).to_have_count(3)
    pages.see("Nothing was written since you came")
    pages.press("Write a message")
    pages.fill("Key", "customer-7", pages.dialog)
    pages.fill("Value", '{"return": 1}', pages.dialog)
    pages.fill("Headers, one to a line", "reason: too small", pages.dialog)
    pages.press("Write message", pages.dialog)
    pages.see("Stored on every in-sync replica")
    row = pages.see_row("Live end", "customer-7", '{"return": 1}', "reason")
    row.click()
    expect(pages.dialog.get_by_text("too small")).to_be_visible()


def test_a_topic_is_altered(pages: Pages) -> None:
    pages.open(f"/ui/topics/{MADE}", MADE)
    pages.page.get_by_role("switch", name="Defaults too").click()
    pages.see_row("Settings", "retention.ms").get_by_role("button").click()
    pages.fill("Value", "3600000", pages.dialog)
    pages.press("Change", pages.dialog)
    pages.see_row("Settings", "retention.ms", "3600000", "topic")
    pages.press("Add partitions")
    pages.fill("Partitions afterwards", "5", pages.dialog)
    pages.press("Add partitions", pages.dialog)
    expect(pages.row("Partitions", "in sync")).to_have_count(5, timeout=SLOW_MS)


def test_a_topic_is_deleted_by_its_name(pages: Pages) -> None:
    pages.open(f"/ui/topics/{MADE}", MADE)
    pages.press("Delete")
    do_it = pages.dialog.get_by_role("button", name="Delete topic")
    pages.fill(f"Type {MADE} to go on", MADE[:-1], pages.dialog)
    expect(do_it).to_be_disabled()
    pages.fill(f"Type {MADE} to go on", MADE, pages.dialog)
    do_it.click()
    pages.see_title("Topics")
    expect(pages.row("Topics", MADE)).to_have_count(0)
    pages.see_row("Topics", TOPIC)


def test_what_flows_is_seen_on_the_overview(pages: Pages, picture: Take) -> None:
    pages.open("/", "Overview")
    expect(pages.row("Brokers", "alive")).to_have_count(4)
    expect(pages.tile("Messages in")).to_contain_text("/s")
    expect(pages.page.get_by_role("img", name="Messages a second")).to_be_visible()
    picture(pages, "overview")
    pages.go("Topics")
    expect(pages.see_row("Topics", TOPIC)).to_contain_text("/s")
    pages.open(f"/ui/topics/{TOPIC}", TOPIC)
    pages.see_row("Live end", "customer-", "source")
    picture(pages, "topic")


def test_messages_are_found(pages: Pages, picture: Take) -> None:
    pages.open("/ui/messages", "Messages")
    pages.see("Choose a topic")
    pages.fill("Topic", TOPIC)
    pages.page.get_by_role("option", name=TOPIC).click()
    pages.choose("From", "The oldest")
    pages.fill("Search in key, value, headers", '"order": 7,')
    pages.press("Read")
    expect(pages.row("Messages", '"order": 7,')).to_have_count(1)
    pages.page.get_by_label("Search in key, value, headers").fill("")
    pages.choose("From", "The newest")
    pages.press("Read")
    pages.see_row("Messages", "customer-")
    picture(pages, "messages")


def test_lag_is_watched_and_a_group_is_reset(pages: Pages, shop: Shop, picture: Take) -> None:
    pages.open("/ui/groups", "Groups")
    pages.see_row("Groups", GROUP, "stable").get_by_role("link").click()
    pages.see_title(GROUP)
    pages.see_row("Members", "billing-1", f"{TOPIC}-0")
    expect(pages.row("Partitions", "billing-1")).to_have_count(3)
    expect(pages.page.locator("path.hr-chart-line")).to_have_count(3)
    expect(pages.tile("Behind")).to_have_text(re.compile("[1-9]"), timeout=SLOW_MS)
    picture(pages, "group")
    shop.close_reader()
    expect(pages.tile("State")).to_have_text("Empty")
    pages.press("Reset offsets")
    pages.press("Show the plan", pages.dialog)
    expect(pages.row(f"Reset {GROUP}", TOPIC)).to_have_count(3)
    pages.press("Reset offsets", pages.dialog)
    pages.see(f"{GROUP} goes on from there")
    for partition in range(3):
        expect(pages.row("Partitions").nth(partition).locator("td").nth(2)).to_have_text("0")


def test_a_spark_job_is_watched(pages: Pages, cluster: Cluster) -> None:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": JOB, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 0, f"{MARK}progress of a query")], asynchronous=False)
    consumer.close()
    pages.open("/", "Overview")
    pages.go("Pipelines")
    pages.see_row("Spark jobs", JOB, TOPIC)
    expect(pages.tile("Behind, all together")).to_have_text(re.compile("[1-9]"), timeout=SLOW_MS)
    expect(pages.page.locator("path.hr-chart-line")).to_have_count(1)


def test_growth_is_planned(pages: Pages) -> None:
    pages.open("/", "Overview")
    pages.go("Planner")
    pages.fill("Messages", "50k/s")
    pages.fill("Price of a broker", "80")
    expect(pages.tile("A day")).to_have_text("4.32 TB")
    expect(pages.row("When it grows")).to_have_count(4)
    expect(pages.tile("A month costs")).to_have_text("320")


def test_a_webhook_is_added_paused_resumed_and_deleted(pages: Pages) -> None:
    pages.open("/ui/webhooks", "Webhooks")
    pages.press("Add webhook")
    pages.fill("Topic", TOPIC, pages.dialog)
    pages.page.get_by_role("option", name=TOPIC).click()
    pages.fill("URL", "http://127.0.0.1:9/hook", pages.dialog)
    pages.press("Add webhook", pages.dialog)
    pages.see("It is not shown again")
    pages.press("I have it")
    row = pages.see_row("Webhooks", TOPIC, "active")
    row.get_by_role("button", name="Pause").click()
    pages.see_row("Webhooks", TOPIC, "paused").get_by_role("button", name="Resume").click()
    pages.see_row("Webhooks", TOPIC, "active").get_by_role("button", name="Redrive").click()
    pages.see("Its dead letters are delivered again")
    row.get_by_role("button", name="Delete").click()
    label = pages.dialog.get_by_label("Type wh-").first
    label.fill((label.get_attribute("aria-label") or "").split()[1])
    pages.press("Delete webhook", pages.dialog)
    pages.see("No webhook yet")


def test_a_broker_is_drained(pages: Pages) -> None:
    pages.open("/ui/brokers", "Brokers")
    row = pages.see_row("Brokers", "Broker 4")
    row.get_by_role("button", name="Drain").click()
    expect(pages.dialog.get_by_text("would move")).to_be_visible()
    pages.press("Drain", pages.dialog)
    pages.see("on the move")
    expect(row.get_by_role("button", name="Drain")).to_have_count(0, timeout=SLOW_MS)
    pages.see("Every partition is where it should be.")
    expect(row.locator("td").nth(3)).to_have_text("0", timeout=SLOW_MS)


def test_a_broker_dies_while_we_look(pages: Pages, cluster: Cluster) -> None:
    pages.open(f"/ui/topics/{TOPIC}", TOPIC)
    pages.see_row("Live end", "customer-")
    side = pages.page.get_by_role("navigation", name="Pages")
    leader = pages.row("Partitions").nth(0).locator("td").nth(1)
    victim = int(leader.inner_text().removeprefix("Broker "))
    cluster.kill(victim)
    expect(side.get_by_text("is down").or_(side.get_by_text("behind"))).to_be_visible(timeout=SLOW_MS)
    expect(leader).not_to_have_text(f"Broker {victim}", timeout=SLOW_MS)
    newest = pages.row("Live end").nth(0)
    before = newest.inner_text()
    expect(newest).not_to_have_text(before, timeout=SLOW_MS)
    pages.go("Brokers")
    pages.see_row("Brokers", f"Broker {victim}", "down")
    pages.go("Overview")
    pages.see_row("Alerts", "without all their in-sync replicas", "Start the brokers that are gone")
    cluster.start(victim)
    expect(side.get_by_text("4 brokers, all well")).to_be_visible(timeout=SLOW_MS)
    expect(pages.row("Brokers", "alive")).to_have_count(4)


def test_the_gateway_dies_and_the_page_finds_it_again(pages: Pages, gateway: GatewayProcess) -> None:
    pages.open("/ui/topics", "Topics")
    pages.page.evaluate("window.before = true")
    gateway.kill()
    gateway.start()
    pages.page.wait_for_function("!window.before", timeout=SLOW_MS)
    pages.see_row("Topics", TOPIC)
    pages.go("Brokers")
    expect(pages.row("Brokers", "alive")).to_have_count(4, timeout=SLOW_MS)
