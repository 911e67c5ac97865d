"""`python -m bench.ui`: how soon the UI is there with a thousand topics: its HTML, and painted in Chromium.

Painted means that the numbers of the page are on the screen, after NiceGUI has built it: later than the browser's own first
paint. Each load is a new tab; "cold" ones have an empty cache. No peer: the limits are those of the issue (p50 < 200 ms,
painted < 1.5 s), and this prints on which side of them it is.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time

import httpx
from playwright.sync_api import Browser, sync_playwright

from headrace.testing import Cluster

HTML_MS_MAX = 200
PAINTED_MS_MAX = 1_500
PAGES = {"overview": "/", "topics": "/ui/topics"}
# Set when a number stands in the first tile, at the frame that shows it.
WATCH = """
const look = () => {
  const number = document.querySelector("dl.hr-tile dd");
  if (number && /[0-9]/.test(number.textContent)) requestAnimationFrame(() => (window.paintedAt = performance.now()));
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


def main() -> int:
    asked = _arguments()
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is missing; fix: apt-get install chromium")
    with Cluster(asked.brokers) as cluster:
        _make_topics(cluster, asked.topics, asked.partitions)
        gateway, url = _gateway(cluster)
        try:
            with sync_playwright() as playwright:
                arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
                browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
                found = {name: _measure(browser, url + path, asked.loads) for name, path in PAGES.items()}
                browser.close()
        finally:
            gateway.terminate()
            gateway.wait(30)
    _show(asked, found)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ui", description=__doc__)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--loads", type=int, default=15, help="of each page and kind (15)")
    return parser.parse_args()


def _make_topics(cluster: Cluster, topics: int, partitions: int) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    names = [f"shop.{number:04}.orders" for number in range(topics)]
    for first in range(0, topics, 100):
        wanted = [NewTopic(name, partitions, min(3, len(cluster.ids))) for name in names[first : first + 100]]
        for made in admin.create_topics(wanted, request_timeout=120).values():
            made.result(180)


def _gateway(cluster: Cluster) -> tuple["subprocess.Popen[str]", str]:
    metrics = ",".join(f"127.0.0.1:{cluster.options(number).metrics_port}" for number in cluster.ids)
    command = [
        sys.executable,
        "-m",
        "headrace.cli",
        "gateway",
        "--bootstrap",
        cluster.bootstrap,
        "--port",
        "0",
        "--json",
    ]
    process = subprocess.Popen([*command, "--set", f"broker_metrics={metrics}"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    # The first look at everything is the monitor's; a page that is opened in that second waits for it.
    httpx.get(url, timeout=60)
    time.sleep(10)
    return process, url


def _measure(browser: Browser, url: str, loads: int) -> dict[str, list[float]]:
    with httpx.Client(timeout=60, trust_env=False) as client:
        html = [_timed(client, url) for _ in range(loads * 2)]
    cold = [_painted(browser, url, loads=1)[0] for _ in range(loads)]
    return {
        "HTML reply": html,
        "painted, cold cache": cold,
        "painted, warm cache": _painted(browser, url, loads + 1)[1:],
    }


def _timed(client: httpx.Client, url: str) -> float:
    began = time.perf_counter()
    client.get(url).raise_for_status()
    return (time.perf_counter() - began) * 1000


def _painted(browser: Browser, url: str, loads: int) -> list[float]:
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    context.add_init_script(WATCH)
    found = []
    for _ in range(loads):
        page = context.new_page()
        page.goto(url)
        found.append(float(page.wait_for_function("window.paintedAt", timeout=60_000).json_value()))
        page.close()
    context.close()
    return found


def _show(asked: argparse.Namespace, found: dict[str, dict[str, list[float]]]) -> None:
    print(f"{asked.topics} topics of {asked.partitions} partitions on {asked.brokers} brokers\n")
    print("| page | what | p50 | p90 | limit |\n|---|---|---|---|---|")
    for page, kinds in found.items():
        for kind, values in kinds.items():
            limit = HTML_MS_MAX if kind.startswith("HTML") else PAINTED_MS_MAX
            middle, high = statistics.median(values), statistics.quantiles(values, n=10)[-1]
            verdict = "within" if middle < limit else "MISSED"
            print(f"| {page} | {kind} | {middle:.0f} ms | {high:.0f} ms | {limit} ms: {verdict} |")


if __name__ == "__main__":
    sys.exit(main())
