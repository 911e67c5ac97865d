"""The UI as somebody uses it: by what is written on it, not by how it is built."""

from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import BrowserContext, Locator, Page, Request, expect

MS = 30_000
expect.set_options(timeout=MS)
# A page that loses its gateway for a moment says so on the console; that is the network's word, not a fault of ours.
HARMLESS = ("WebSocket", "ERR_CONNECTION", "ERR_INTERNET")


class Pages:
    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self.url = url
        self.faults: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(MS)
        self.page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        self.page.on("dialog", lambda box: self.faults.append(f"a script of a message opened a box: {box.message}"))
        self.page.on("console", lambda said: self._on_console(said.type, said.text))
        self.page.on("request", self._on_request)

    def _on_console(self, kind: str, text: str) -> None:
        if kind == "error" and not any(each in text for each in HARMLESS):
            self.faults.append(f"console: {text}")

    def _on_request(self, request: Request) -> None:
        own = (self.url, self.url.replace("http://", "ws://"), "data:", "blob:")
        if not request.url.startswith(own):
            self.faults.append(f"asked for {request.url}")

    def check(self) -> None:
        assert not self.faults, "\n".join(self.faults)

    # -- going about -------------------------------------------------------------------------------------------------

    def open(self, path: str, title: str) -> None:
        self.page.goto(self.url + path)
        self.see_title(title)

    def go(self, place: str) -> None:
        """By the navigation, without a reload."""
        self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=place, exact=True).click()
        self.see_title(place)

    def see_title(self, title: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)

    def see_current(self, place: str) -> None:
        """Marked for the eye and for screen readers alike, and no other is."""
        current = self.page.locator('a[aria-current="page"]')
        expect(current).to_have_count(1)
        expect(current).to_have_accessible_name(place)

    def press(self, name: str, within: Locator | None = None) -> None:
        (within or self.page).get_by_role("button", name=name, exact=True).click()

    @property
    def dialog(self) -> Locator:
        return self.page.get_by_role("dialog")

    def fill(self, label: str, text: str, within: Locator | None = None) -> None:
        (within or self.page).get_by_label(label, exact=True).fill(text)

    def choose(self, label: str, option: str, within: Locator | None = None) -> None:
        (within or self.page).get_by_label(label, exact=True).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    # -- seeing ------------------------------------------------------------------------------------------------------

    def table(self, name: str) -> Locator:
        return self.page.get_by_role("table", name=name, exact=True)

    def row(self, table: str, *texts: str) -> Locator:
        found = self.table(table).locator("tbody tr")
        for text in texts:
            found = found.filter(has_text=text)
        return found

    def see_row(self, table: str, *texts: str) -> Locator:
        found = self.row(table, *texts).first
        expect(found).to_be_visible(timeout=MS)
        return found

    def see(self, text: str) -> None:
        expect(self.page.get_by_text(text).first).to_be_visible(timeout=MS)

    def tile(self, name: str) -> Locator:
        return self.page.locator("dl.hr-tile").filter(has=self.page.get_by_text(name, exact=True)).locator("dd")

    def picture(self, path: Path) -> None:
        """In few colours: a page has not many, and the file stays small."""
        self.page.mouse.move(0, 0)
        taken = Image.open(BytesIO(self.page.screenshot()))
        taken.convert("RGB").quantize(256).save(path, optimize=True)
