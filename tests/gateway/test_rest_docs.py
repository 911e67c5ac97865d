"""Every command in docs/rest.md does what stands below it, in the order of the page."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway_process import GatewayProcess

from headrace.testing import Broker

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rest.md"
BLOCK = re.compile(r"```sh\n(.*?)```\n(?:```json\n(.*?)```)?", re.DOTALL)
LINES = [
    "POST /api/v1/topics/{}/messages",
    "GET /api/v1/topics/{}/partitions/{}/messages",
    "POST /api/v1/consumer-groups/{}/offsets",
    "POST /topics/{}/messages",
    "GET /topics/{}/messages",
    "POST /consumer/commit",
]


def assert_like(found: Any, shown: Any) -> None:
    """Equal, but for "…" in what is shown, which is anything."""
    if shown == "…":
        return
    if isinstance(shown, dict):
        assert found.keys() == shown.keys(), (found, shown)
        for name in shown:
            assert_like(found[name], shown[name])
    elif isinstance(shown, list):
        assert len(found) == len(shown), (found, shown)
        for one, other in zip(found, shown, strict=True):
            assert_like(one, other)
    else:
        assert found == shown


def documents(text: str) -> list[Any]:
    """JSON values one after the other."""
    found, decoder = [], json.JSONDecoder()
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def test_every_command_of_the_page(new_gateway: Callable[..., GatewayProcess]) -> None:
    with Broker() as broker:
        url = new_gateway(bootstrap=broker.bootstrap).url
        for command, shown in BLOCK.findall(PAGE.read_text()):
            command = command.replace("localhost:8080", url.removeprefix("http://"))
            ran = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, timeout=60, check=False)
            assert ran.returncode == 0, (command, ran)
            if shown:
                assert_like(documents(ran.stdout), documents(shown))


def test_every_line_of_both_dialects_is_shown() -> None:
    commands = [command for command, _ in BLOCK.findall(PAGE.read_text())]
    for line in LINES:
        method, path = line.split()
        pattern = re.compile(path.replace("{}", "[a-z0-9]+") + r"['? \n]")
        shown = [each for each in commands if pattern.search(each)]
        assert any(("-d" in each) == (method == "POST") for each in shown), line
