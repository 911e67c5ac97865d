"""Log-ins by an OpenID provider, and every known way to get in by one without having logged in there."""

import base64
import html
import json
import re
import ssl
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from eventually import until
from gateway.gateway_process import SECONDS, GatewayProcess
from gateway.login.oidc_world import broker_of, oidc_gateway
from headrace.testing.broker import Broker
from openid_provider import OpenidProvider
from signed_tokens import STRANGE_KEY, token

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[OpenidProvider]:
    made = OpenidProvider(tmp_path_factory.mktemp("provider"))
    yield made
    made.close()


@pytest.fixture
def provider(running) -> Iterator[OpenidProvider]:
    running.reset()
    yield running
    running.reset()


@pytest.fixture(scope="module")
def believing(running, tmp_path_factory) -> Iterator[Broker]:
    with broker_of(running, tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.fixture(scope="module")
def front(believing, running, tmp_path_factory) -> Iterator[GatewayProcess]:
    gateway = oidc_gateway(believing, running, tmp_path_factory.mktemp("front"))
    yield gateway
    gateway.stop()


@pytest.fixture
def browser(front) -> Iterator[httpx.Client]:
    with front.client(headers=HTML) as client:
        yield client


@pytest.fixture
def outside(provider) -> Iterator[httpx.Client]:
    context = ssl.create_default_context(cafile=str(provider.ca))
    with httpx.Client(verify=context, trust_env=False, timeout=SECONDS) as client:
        yield client


def way_back(browser: httpx.Client, outside: httpx.Client, wanted: str = "/ui/topics") -> str:
    """The address that the provider sends the browser back to."""
    left = browser.get("/login/oidc", params={"next": wanted})
    assert left.status_code == 303, left.text
    return outside.get(left.headers["location"]).headers["location"]


def log_in(browser: httpx.Client, outside: httpx.Client, wanted: str = "/ui/topics") -> httpx.Response:
    return browser.get(way_back(browser, outside, wanted))


def is_in(browser: httpx.Client) -> bool:
    return browser.get("/ui/topics").status_code == 200


def goes_to(reply: httpx.Response) -> str:
    (found,) = re.findall(r'content="0;url=([^"]*)"', reply.text)
    return html.unescape(found)


def test_who_logs_in_there_is_in_here(browser, outside, provider):
    assert not is_in(browser)
    offered = browser.get("/login").text
    assert "Log in with localhost" in offered and f"{provider.issuer}/out" in offered
    reply = log_in(browser, outside)
    assert reply.status_code == 200, reply.text
    assert goes_to(reply) == "/ui/topics"
    cookies = reply.headers.get_list("set-cookie")
    assert any("SameSite=Strict" in each and "HttpOnly" in each for each in cookies)
    page = browser.get("/ui/topics")
    assert page.status_code == 200 and "Al Person" in page.text
    assert "eyJ" not in page.text and "eyJ" not in reply.text, "no page shows a token"


def test_what_is_asked_of_the_provider(browser):
    asked = parse_qs(urlsplit(browser.get("/login/oidc").headers["location"]).query)
    assert asked["response_type"] == ["code"] and asked["code_challenge_method"] == ["S256"]
    again = parse_qs(urlsplit(browser.get("/login/oidc").headers["location"]).query)
    for secret in ("state", "nonce", "code_challenge"):
        assert len(asked[secret][0]) >= 43 and asked[secret] != again[secret]


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example", "/\\evil.example", "/login", "/api/v1/topics", "javascript:x"]
)
def test_it_goes_on_to_pages_of_ours_only(browser, outside, wanted):
    assert goes_to(log_in(browser, outside, wanted)) == "/"


def refused(browser: httpx.Client, reply: httpx.Response) -> None:
    assert reply.status_code == 401, reply.text
    assert not is_in(browser)


def test_another_state_is_refused(browser, outside, provider):
    provider.back = {"state": "x" * 43}
    refused(browser, log_in(browser, outside))


def test_another_browser_cannot_finish_it(browser, outside, front):
    back = way_back(browser, outside)
    with front.client(headers=HTML) as victim:
        refused(victim, victim.get(back))
        victim.get("/login/oidc")
        refused(victim, victim.get(back))


def test_a_cookie_that_we_did_not_sign_is_none(browser, outside):
    back = way_back(browser, outside)
    (name,) = [name for name in browser.cookies if name.endswith("-oidc")]
    text, _, signature = browser.cookies[name].partition(".")
    changed = base64.urlsafe_b64encode(base64.urlsafe_b64decode(text + "==")[:-1] + b" ]").decode().rstrip("=")
    browser.cookies.clear()
    refused(browser, browser.get(back, headers={"Cookie": f"{name}={changed}.{signature}"}))


def test_a_code_is_good_once(browser, outside):
    left = browser.get("/login/oidc")
    cookie = {"Cookie": left.headers["set-cookie"].partition(";")[0]}
    back = outside.get(left.headers["location"]).headers["location"]
    browser.cookies.clear()
    assert browser.get(back, headers=cookie).status_code == 200
    browser.cookies.clear()
    refused(browser, browser.get(back, headers=cookie))


def test_no_code_and_an_error_are_refused(browser, outside, provider):
    provider.back = {"code": ""}
    refused(browser, log_in(browser, outside))
    back = way_back(browser, outside)
    refused(browser, browser.get(f"{back}&code=another"))


def test_another_issuer_answered(browser, outside, provider):
    provider.back = {"iss": "https://evil.example"}
    refused(browser, log_in(browser, outside))


@pytest.mark.parametrize(
    "changes",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"iss": "https://evil.example"},
        {"aud": "another"},
        {"aud": ["headrace-gateway", "another"]},
        {"aud": ["headrace-gateway", "another"], "azp": "another"},
        {"exp": 1},
        {"at_hash": "x" * 22},
        {"sub": "root"},
    ],
)
def test_an_id_token_that_is_not_of_this_log_in(browser, outside, provider, changes):
    provider.id_changes = changes
    refused(browser, log_in(browser, outside))


@pytest.mark.parametrize(
    "changes", [{"iss": "https://evil.example"}, {"aud": "another"}, {"exp": 1}, {"sub": "root"}, {"sub": None}]
)
def test_an_access_token_that_is_not_for_the_brokers(browser, outside, provider, changes):
    provider.access_changes = changes
    refused(browser, log_in(browser, outside))


def unsigned(**claims) -> str:
    parts = [{"alg": "none", "kid": "rsa"}, claims]
    return ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts) + "."


def by_a_stranger(**claims) -> str:
    return token(STRANGE_KEY, **claims)


@pytest.mark.parametrize("sign", [unsigned, by_a_stranger])
def test_an_id_token_that_the_provider_did_not_sign(browser, outside, provider, sign):
    provider.sign = sign
    refused(browser, log_in(browser, outside))


def test_the_log_in_ends_with_its_token(browser, outside, provider):
    provider.lifetime = 4
    assert log_in(browser, outside).status_code == 200
    assert is_in(browser)
    until(lambda: not is_in(browser), seconds=SECONDS)
