"""The UI before one broker: every page opens, hostile text stays text, keys are enough, and nothing comes from elsewhere."""

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from playwright.sync_api import expect

from browser.pages import MS, Pages
from gateway.gateway_process import GatewayProcess
from headrace.gateway.planner import FROM_DOCS, Load, Margins, Prices, plan
from headrace.gateway.ui.jobs import MARK
from headrace.testing import Broker

HOSTILE = "<img src=x onerror=alert(1)>"
PLACES = ("Overview", "Topics", "Messages", "Groups", "Brokers", "Webhooks", "Pipelines", "Planner")

Open = Callable[..., Pages]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"num.partitions": 2}) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(broker: Broker) -> Iterator[GatewayProcess]:
    running = GatewayProcess(broker.bootstrap, "--set", f"broker_metrics=127.0.0.1:{broker.metrics_port}").start()
    yield running
    running.stop()


@pytest.fixture
def pages(gateway: GatewayProcess, open_pages: Open) -> Pages:
    return open_pages(gateway.url)


@pytest.fixture
def topic(broker: Broker) -> str:
    """With two messages, one of them hostile in every part."""
    name = f"orders-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(name, b'{"amount": 12.5, "items": [1, 2]}', key=b"customer-1", partition=0)
    producer.produce(name, HOSTILE.encode(), key=HOSTILE.encode(), headers={HOSTILE: HOSTILE}, partition=1)
    assert producer.flush(MS / 1000) == 0
    return name


def test_every_page_opens_and_is_left_without_a_reload(pages: Pages) -> None:
    pages.open("/", "Overview")
    pages.page.evaluate("window.stayed = true")
    for place in (*PLACES, "API"):
        pages.go(place)
        pages.see_current(place)
    assert pages.page.evaluate("window.stayed"), "the navigation loaded the page again"
    pages.page.go_back()
    pages.see_title("Planner")


@pytest.mark.parametrize("place", PLACES[1:])
def test_every_page_has_an_address(pages: Pages, place: str) -> None:
    pages.open(f"/ui/{place.lower()}", place)


def test_hostile_text_is_shown_as_text(pages: Pages, topic: str) -> None:
    pages.open(f"/ui/messages?topic={topic}", "Messages")
    pages.see_row("Messages", HOSTILE).click()
    expect(pages.dialog.get_by_text(HOSTILE).first).to_be_visible()
    assert pages.dialog.get_by_text(HOSTILE).count() >= 3, "key, value and header"
    assert pages.page.locator("img").count() == 0


def test_a_group_of_any_name_is_found(pages: Pages, broker: Broker, topic: str) -> None:
    group = f"{HOSTILE}/{{{{ 1 }}}} ${{2}} {topic}"
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()
    pages.open("/ui/groups", "Groups")
    pages.fill("Search groups", topic)
    pages.see_row("Groups", group).get_by_role("link").click()
    pages.see_title(group)
    pages.see_row("Partitions", topic)


def test_a_group_is_deleted_by_its_name(pages: Pages, broker: Broker, topic: str) -> None:
    group = f"gone-{topic}"
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()
    pages.open(f"/ui/group?name={group}", group)
    pages.press("Delete")
    expect(pages.dialog.get_by_role("button", name="Delete group")).to_be_disabled()
    pages.fill(f"Type {group} to go on", group, pages.dialog)
    pages.press("Delete group", pages.dialog)
    pages.see(f"Group {group} is deleted")
    pages.see_title("Groups")
    pages.fill("Search groups", group)
    expect(pages.row("Groups", group)).to_have_count(0)


def test_a_path_of_any_kind_makes_no_markup(pages: Pages) -> None:
    pages.open("/ui/topics/%3Cimg%20src=x%20onerror=alert(1)%3E", HOSTILE)
    pages.see("There is no such topic")
    assert pages.page.locator("img").count() == 0


def test_values_are_shown_as_json_text_and_hex(pages: Pages, topic: str) -> None:
    pages.open(f"/ui/messages?topic={topic}", "Messages")
    pages.see_row("Messages", "customer-1").click()
    value = pages.dialog.locator("pre").nth(1)
    expect(value).to_contain_text('"items": [')
    pages.press("Hex", pages.dialog.get_by_label("How to show the value"))
    expect(value).to_contain_text("00000000  7b 22 61 6d")


def test_messages_are_searched_and_exported(pages: Pages, topic: str) -> None:
    pages.open(f"/ui/messages?topic={topic}", "Messages")
    pages.see("2 messages, 2 read")
    pages.fill("Search in key, value, headers", "CUSTOMER-1")
    pages.press("Read")
    pages.see("1 message, 2 read")
    with pages.page.expect_download() as download:
        pages.press("Export")
    assert download.value.suggested_filename == f"{topic}.ndjson"
    assert '"amount":12.5' in download.value.path().read_text()


def test_a_page_of_messages_holds_so_many_bytes(pages: Pages, broker: Broker) -> None:
    topic, now_ms = f"large-{uuid.uuid4().hex[:8]}", int(time.time() * 1000)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for number in range(12):
        # Of today: retention by time deletes what is older than a week, at any moment.
        at_ms = now_ms + number
        producer.produce(topic, bytes(900_000), key=f"key-{number:02}", partition=number % 2, timestamp=at_ms)
    assert producer.flush(MS / 1000) == 0
    pages.open(f"/ui/messages?topic={topic}", "Messages")
    pages.see("8 messages, 12 read; a page holds no more than 8 MB")
    expect(pages.row("Messages").locator("td:nth-child(4)")).to_have_text([f"key-{n:02}" for n in range(11, 3, -1)])


def test_messages_are_read_from_an_offset_and_a_time(pages: Pages, broker: Broker) -> None:
    topic, noon = f"times-{uuid.uuid4().hex[:8]}", datetime.now().replace(microsecond=0) - timedelta(hours=1)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for number in range(6):
        at_ms = int((noon + timedelta(minutes=number)).timestamp() * 1000)
        producer.produce(topic, f"value-{number}", partition=0, timestamp=at_ms)
    assert producer.flush(MS / 1000) == 0
    values = pages.row("Messages").locator("td:nth-child(5)")
    pages.open(f"/ui/messages?topic={topic}", "Messages")
    expect(values).to_have_text([f"value-{number}" for number in (5, 4, 3, 2, 1, 0)])
    pages.choose("From", "Offset")
    pages.fill("Offset", "4")
    pages.press("Read")
    expect(values).to_have_text(["value-4", "value-5"])
    pages.fill("Offset", "99")
    pages.press("Read")
    pages.see("No message was found there.")
    pages.choose("From", "Time")
    pages.fill("Time", (noon + timedelta(minutes=2, seconds=1)).isoformat())
    pages.press("Read")
    expect(values).to_have_text(["value-3", "value-4", "value-5"])
    pages.fill("Time", (noon + timedelta(minutes=30)).isoformat())
    pages.press("Read")
    pages.see("0 messages, 0 read")


def test_partitions_that_are_added_are_seen_by_open_pages(
    pages: Pages, broker: Broker, open_pages: Open, topic: str
) -> None:
    pages.open(f"/ui/topics/{topic}", topic)
    pages.see("Nothing was written since you came")
    messages = open_pages(pages.url)
    messages.open(f"/ui/messages?topic={topic}", "Messages")
    messages.see("2 messages, 2 read")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(MS / 1000)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, b"in the third", partition=2)
    assert producer.flush(MS / 1000) == 0
    pages.see_row("Live end", "in the third")
    pages.press("Add partitions")
    pages.see("It has 3.")
    pages.press("Cancel", pages.dialog)
    pages.press("Write a message")
    pages.choose("Partition", "2", pages.dialog)
    messages.press("Read")
    messages.see("3 messages, 3 read")
    messages.choose("Partition", "2")
    messages.press("Read")
    messages.see("1 message, 1 read")


def test_a_reserved_topic_is_not_written_by_hand(pages: Pages, broker: Broker) -> None:
    topic = f"_headrace_{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, b"its own", partition=0)
    assert producer.flush(MS / 1000) == 0
    pages.open(f"/ui/topics/{topic}", topic)
    pages.press("Write a message")
    pages.fill("Value", "by hand", pages.dialog)
    pages.press("Write message", pages.dialog)
    pages.see(f"{topic} is written by Headrace itself. To fix it: choose another topic name.")
    expect(pages.dialog).to_be_visible()


def test_a_message_that_a_broker_refuses_says_why(pages: Pages, broker: Broker) -> None:
    topic = f"small-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, 1, 1, config={"max.message.bytes": "200"})])[topic].result(MS / 1000)
    pages.open(f"/ui/topics/{topic}", topic)
    pages.press("Write a message")
    pages.fill("Value", "x" * 300, pages.dialog)
    pages.press("Write message", pages.dialog)
    pages.see("To fix it: ")
    pages.fill("Value", "x", pages.dialog)
    pages.press("Write message", pages.dialog)
    pages.see("Stored on every in-sync replica")


def test_the_keyboard_is_enough(pages: Pages, topic: str) -> None:
    pages.open("/ui/topics", "Topics")
    keys = pages.page.keyboard
    keys.press("Tab")
    expect(pages.page.locator(":focus")).to_have_text("Skip to the content")
    keys.press("Enter")
    expect(pages.page.get_by_role("main")).to_be_focused()
    pages.page.get_by_label("Search topics").focus()
    keys.type(topic)
    pages.see_row("Topics", topic)
    pages.page.get_by_role("link", name=topic).focus()
    keys.press("Enter")
    pages.see_title(topic)
    pages.page.get_by_role("button", name="Add partitions").focus()
    keys.press("Enter")
    expect(pages.dialog).to_be_visible()
    keys.press("Escape")
    expect(pages.dialog).to_have_count(0)


def test_light_and_dark_follow_the_system_until_chosen(gateway: GatewayProcess, open_pages: Open) -> None:
    pages = open_pages(gateway.url, dark=True)
    pages.open("/ui/planner", "Planner")
    expect(pages.page.locator("body.body--dark")).to_have_count(1)
    pages.press("Theme: system")
    pages.press("Theme: light")
    pages.press("Theme: dark")
    pages.press("Theme: system")
    expect(pages.page.locator("body.body--light")).to_have_count(1)
    pages.page.reload()
    expect(pages.page.locator("body.body--light")).to_have_count(1)
    pages.see("Theme: light")


def test_the_planner_says_what_is_no_number(pages: Pages) -> None:
    pages.open("/ui/planner", "Planner")
    expect(pages.tile("A day")).to_have_text("86.4 TB")
    pages.fill("Messages", "many")
    pages.see("is not a rate such as")
    pages.fill("Messages", "2M/s")
    expect(pages.tile("A day")).to_have_text("173 TB")


def test_the_planner_takes_machines_prices_and_a_bench_of_your_own(pages: Pages) -> None:
    pages.open("/ui/planner", "Planner")
    expect(pages.tile("A month costs")).to_have_text("–")
    pages.fill("Price of a broker", "80")
    pages.fill("Price of a terabyte", "20")
    pages.fill("Size of a disk", "1PB")
    pages.fill("Network card", "100Gb/s")
    # As `headrace plan --disk 1PB --network 100Gb/s --broker-price 80 --tb-price 20` says it.
    made = plan(
        Load(1e6, 1000), margins=Margins(disk_bytes=1e15, network_bytes_per_second=100e9 / 8), prices=Prices(80, 20)
    )
    expect(pages.tile("A month costs")).to_have_text(f"{made.growth[0].monthly_cost:,.0f}")
    pages.see_row("When it grows", "10 times that", f"{made.growth[-1].monthly_cost:,.0f}")
    pages.see_row("How it comes about", "Links", next(line.working for line in made.lines if line.name == "links"))
    pages.see_row("How it comes about", "Disks to hold it", "80% of 1 PB")


def test_the_planner_takes_the_constants_of_your_own_bench(pages: Pages) -> None:
    pages.open("/ui/planner", "Planner")
    file = pages.page.get_by_label("Your bench result")
    file.set_input_files({"name": "mine.json", "mimeType": "application/json", "buffer": b'{"rows": 1}'})
    pages.see("mine.json is no result of the bench")
    content = {"rows": [{"name": "cpu-in", "ours": 5.5}], "measured": {}, "machine": {"cpu": HOSTILE, "cores": 8}}
    file.set_input_files({"name": "mine.json", "mimeType": "", "buffer": json.dumps(content).encode()})
    pages.see(f"Constants from mine.json (8 cores, {HOSTILE})")
    pages.see_row("How it comes about", "Cores at work", "5.5 s in")
    pages.press("As published")
    pages.see(f"Constants from {FROM_DOCS.source}")


def test_a_webhook_that_is_refused_says_why(pages: Pages, topic: str) -> None:
    # The list to choose from is what the gateway saw last.
    pages.open("/ui/topics", "Topics")
    pages.see(topic)
    pages.open("/ui/webhooks", "Webhooks")
    pages.press("Add webhook")
    pages.fill("Topic", topic, pages.dialog)
    pages.page.get_by_role("option", name=topic).click()
    pages.fill("URL", "http://127.0.0.1:1/hook", pages.dialog)
    pages.press("Add webhook", pages.dialog)
    pages.see("webhook_networks")


def test_a_spark_query_is_a_pipeline(pages: Pages, broker: Broker, topic: str) -> None:
    group = f"nightly-{topic}"
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0, f"{MARK}progress of a query")], asynchronous=False)
    consumer.close()
    pages.open("/ui/pipelines", "Pipelines")
    row = pages.see_row("Spark jobs", group, topic)
    expect(row.locator("td").nth(2)).to_have_text("1")
    row.get_by_role("link").click()
    pages.see_title(group)


def test_what_never_changes_is_kept_by_the_browser(gateway: GatewayProcess) -> None:
    with gateway.client() as client:
        page = client.get("/")
        assert page.headers["cache-control"] == "no-store"
        assert "default-src 'self'" in page.headers["content-security-policy"]
        script = re.search(r'src="(/_nicegui/[^"]+/quasar[^"]+)"', page.text)
        assert script, "the page has no script of Quasar's"
        assert "immutable" in client.get(script[1]).headers["cache-control"]
        assert "immutable" not in client.get(f"{script[1]}.no").headers.get("cache-control", "")


def test_every_path_of_rest_is_described(pages: Pages, gateway: GatewayProcess) -> None:
    with gateway.client() as client:
        assert "see /docs" in client.get("/nothing").json()["fix"]
        described = client.get("/openapi.json").json()["paths"]
    pages.open("/docs", "API")
    wanted = {f"{method.upper()} {path}" for path, methods in described.items() for method in methods}
    shown = pages.page.locator("details > summary")
    expect(shown).to_have_count(len(wanted))
    assert {" ".join(text.split()[:2]) for text in shown.all_inner_texts()} == wanted
    operation = pages.page.locator("details", has_text="Create a topic")
    operation.locator("summary").click()
    expect(pages.table("Parameters of POST /api/v1/topics")).to_contain_text("validate_only")
    expect(operation.locator("pre").first).to_contain_text("name: string")
    expect(operation).to_contain_text("It could be made.")


def test_rest_keeps_its_errors(gateway: GatewayProcess) -> None:
    """The UI takes no path that is not its own."""
    with gateway.client() as client:
        for path in ("/nothing", "/api/v1/nothing", "/uix", "/_niceguix", "/docsx", "/docs/x"):
            reply = client.get(path)
            assert (reply.status_code, reply.headers["content-type"]) == (404, "application/problem+json"), path


def test_what_is_asked_of_no_broker_says_that_none_answers(open_pages: Open) -> None:
    running = GatewayProcess("127.0.0.1:1").start()
    try:
        pages = open_pages(running.url)
        for name in ("Rebalance", "Elect preferred leaders"):
            pages.open("/ui/brokers", "Brokers")
            pages.press(name)
            expect(pages.page.get_by_role("alert")).to_contain_text("No broker answers at the moment.")
    finally:
        running.stop()


def test_pages_that_nobody_looks_at_cost_no_more_than_allowed(broker: Broker) -> None:
    running = GatewayProcess(broker.bootstrap, "--set", "ui_pages_max=3").start()
    try:
        with running.client() as client:
            replies = [client.get("/") for _ in range(4)]
            assert [reply.status_code for reply in replies] == [200, 200, 200, 429]
            assert "ui_pages_max" in replies[3].json()["detail"]
            assert client.get("/health").status_code == 200
    finally:
        running.stop()
