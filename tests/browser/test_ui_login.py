"""The UI before brokers that ask for logins: logging in and out, and what another log-in cannot reach."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from playwright.sync_api import expect

from browser.pages import Pages
from gateway.gateway_process import SECONDS, GatewayProcess
from gateway.login.login_world import USERS, gateway_before, librdkafka, secured_broker
from headrace.testing import Broker

LITERAL = ResourcePatternType.LITERAL
OPEN, HIDDEN = "open-orders", "hidden-orders"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """`root` may everything, `al` may read and write one topic."""
    rules = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:root;User:broker",
    }
    with secured_broker(tmp_path_factory.mktemp("secured"), rules) as running:
        admin = AdminClient(librdkafka(running, "root"))
        for made in admin.create_topics([NewTopic(name, 1, 1) for name in (OPEN, HIDDEN)]).values():
            made.result(SECONDS)
        for operation in (AclOperation.READ, AclOperation.WRITE):
            rule = AclBinding(ResourceType.TOPIC, OPEN, LITERAL, "User:al", "*", operation, AclPermissionType.ALLOW)
            admin.create_acls([rule])[rule].result(SECONDS)
        yield running


@pytest.fixture(scope="module")
def front(secured: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    running = gateway_before(secured, tmp_path_factory.mktemp("front")).start()
    yield running
    running.stop()


def log_in(pages: Pages, name: str, password: str) -> None:
    pages.page.get_by_label("Name").fill(name)
    pages.page.get_by_label("Password").fill(password)
    pages.press("Log in")


def test_log_in_look_around_and_log_out(front, open_pages, tmp_path: Path):
    pages = open_pages(front.url)
    pages.page.goto(f"{front.url}/ui/topics")
    expect(pages.page).to_have_title("Log in · Headrace")
    pages.page.screenshot(path=tmp_path / "login.png")
    # Chromium writes the status of a refused form to its console.
    log_in(pages, "root", USERS["root"])
    pages.see_title("Topics")
    assert pages.page.url == f"{front.url}/ui/topics"
    for place in ("Overview", "Messages", "Groups", "Brokers", "Pipelines", "Planner", "API"):
        pages.go(place)
    expect(pages.page.get_by_role("link", name="Webhooks")).to_have_count(0)
    pages.page.screenshot(path=tmp_path / "in.png")
    other = pages.context.new_page()
    other.goto(f"{front.url}/ui/brokers")
    expect(other.get_by_role("heading", level=1)).to_have_text("Brokers")
    pages.press("Log out")
    expect(pages.page).to_have_title("Log in · Headrace")
    expect(other).to_have_title("Log in · Headrace")
    pages.page.goto(f"{front.url}/ui/topics")
    expect(pages.page).to_have_title("Log in · Headrace")


def test_the_cookie_is_of_no_use_to_scripts_and_other_sites(front, open_pages):
    pages = open_pages(front.url)
    pages.page.goto(f"{front.url}/login?next=//evil.example/")
    log_in(pages, "al", USERS["al"])
    pages.see_title("Overview")
    (cookie,) = pages.context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and not cookie["secure"]
    # Programs send their login with each request; a browser's cookie is for pages.
    assert pages.page.request.get(f"{front.url}/api/v1/topics").status == 401
    refused = pages.page.request.post(f"{front.url}/logout", form={"token": "guess"})
    assert refused.status == 403
    assert pages.page.request.get(f"{front.url}/openapi.json").status == 200


def test_what_is_not_allowed_is_not_shown(front, open_pages):
    pages = open_pages(front.url)
    pages.page.goto(f"{front.url}/ui/topics")
    log_in(pages, "al", USERS["al"])
    pages.see_title("Topics")
    expect(pages.page.get_by_role("link", name=OPEN)).to_be_visible()
    buttons = pages.page.get_by_role("main").get_by_role("button")
    expect(pages.page.get_by_role("button", name="Create topic")).to_have_count(0)
    pages.page.get_by_role("link", name=OPEN).click()
    pages.see_title(OPEN)
    expect(pages.page.get_by_role("button", name="Write a message")).to_be_visible()
    for name in ("Delete", "Add partitions", "Change"):
        expect(pages.page.get_by_role("button", name=name)).to_have_count(0)
    pages.go("Brokers")
    expect(buttons).to_have_count(0)
    for path in ("/", "/ui/topics", "/ui/messages", "/ui/brokers", "/ui/groups", f"/ui/topics/{HIDDEN}"):
        pages.page.goto(front.url + path)
        expect(pages.page.get_by_role("heading", level=1)).to_be_visible()
        shown = pages.page.get_by_role("main").inner_text()
        assert HIDDEN not in shown or path.endswith(HIDDEN), shown
    expect(pages.page.get_by_text("There is no such topic")).to_be_visible()
