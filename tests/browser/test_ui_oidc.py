"""The UI's log-in by an OpenID provider, in a real browser: cookies and policies have to let it come back."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from gateway.gateway_process import GatewayProcess
from gateway.login.oidc_world import broker_of, oidc_gateway
from headrace.testing.broker import Broker
from openid_provider import OpenidProvider


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenidProvider]:
    made = OpenidProvider(tmp_path_factory.mktemp("provider"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def believing(provider: OpenidProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker_of(provider, tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture(scope="module")
def front(
    believing: Broker, provider: OpenidProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    gateway = oidc_gateway(believing, provider, tmp_path_factory.mktemp("front"))
    yield gateway
    gateway.stop()


def test_log_in_there_look_around_here_and_log_out(front: GatewayProcess, chromium: Browser) -> None:
    # The provider's certificate is of an authority of its own.
    context = chromium.new_context(ignore_https_errors=True)
    page = context.new_page()
    page.goto(f"{front.url}/ui/topics")
    expect(page).to_have_title("Log in · Headrace")
    page.get_by_role("link", name="Log in with localhost").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
    assert page.url == f"{front.url}/ui/topics"
    (cookie,) = [each for each in context.cookies(front.url) if each["name"] == "headrace"]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    expect(page.get_by_text("Al Person")).to_be_visible()
    page.get_by_role("button", name="Log out", exact=True).click()
    expect(page).to_have_title("Log in · Headrace")
    expect(page.get_by_role("link", name="Log out at localhost")).to_be_visible()
    page.goto(f"{front.url}/ui/topics")
    expect(page).to_have_title("Log in · Headrace")
    context.close()
