"""Real Chromium before a real gateway. A page that logs an error, or asks another host for anything, fails its test."""

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser.pages import Pages

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Of one module: while it runs, its event loop is the running one of this thread, which others would trip over."""
    if CHROMIUM is None:
        pytest.skip("chromium is missing; fix: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_pages(chromium: Browser) -> Iterator[Callable[..., Pages]]:
    opened: list[Pages] = []

    def open_at(url: str, dark: bool = False) -> Pages:
        scheme = "dark" if dark else "light"
        context = chromium.new_context(
            viewport={"width": 1280, "height": 860}, color_scheme=scheme, accept_downloads=True, service_workers="block"
        )
        opened.append(Pages(context, url))
        return opened[-1]

    yield open_at
    for each in opened:
        each.context.close()
    for each in opened:
        each.check()
