"""The commands of a page of the docs, run in one shell as a reader would, and what they asked the gateway for."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"```sh\n(.*?)```\n(?:```(json|text)\n(.*?)```)?", re.DOTALL)
# What `curl --verbose` says of a request, and of its reply.
EXCHANGE = re.compile(r"^> ([A-Z]+) (\S+) HTTP/1\.1\r?$.*?^< HTTP/1\.1 (\d+)", re.DOTALL | re.MULTILINE)
END_OF_BLOCK = "\x1e"
ANYTHING = "…"
SECONDS = 120


class Shown(NamedTuple):
    command: str
    kind: str
    reply: str


class Exchange(NamedTuple):
    method: str
    path: str
    status: int


def run_page(page: str, here: dict[str, str], home: Path) -> list[Exchange]:
    """`here` are names of the page and what stands for them now; `home` is an empty directory for curl's settings."""
    text = (DOCS / page).read_text()
    for name, value in here.items():
        text = text.replace(name, value)
    blocks = [Shown(*each) for each in BLOCK.findall(text)]
    (home / ".curlrc").write_text("verbose\n")
    script = "".join(f"{each.command}\nprintf '{END_OF_BLOCK}'\n" for each in blocks)
    ran = subprocess.run(
        ["bash", "-ec", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "CURL_HOME": str(home)},
    )
    *printed, rest = ran.stdout.split(END_OF_BLOCK)
    assert ran.returncode == 0, (blocks[len(printed)].command, rest, ran.stderr[-2000:])
    for block, output in zip(blocks, printed, strict=True):
        assert_shown(block, output)
    return [
        Exchange(method, target.partition("?")[0], int(status))
        for method, target, status in EXCHANGE.findall(ran.stderr)
    ]


def assert_shown(block: Shown, output: str) -> None:
    try:
        if block.kind == "text":
            assert_text_like(output, block.reply)
        else:
            assert_like(documents(output), documents(block.reply))
    except AssertionError as error:
        raise AssertionError(f"{block.command}\n{output}\n{error}") from None


def assert_like(found: Any, shown: Any) -> None:
    """Equal, but for "…" in what is shown: any value, any part of a text, or, as a name, any further fields."""
    if isinstance(shown, str):
        if shown != ANYTHING:
            assert_text_like(found, shown)
    elif isinstance(shown, dict):
        assert isinstance(found, dict), (found, shown)
        named = shown.keys() - {ANYTHING}
        assert named <= found.keys() if ANYTHING in shown else named == found.keys(), (found, shown)
        for name in named:
            assert_like(found[name], shown[name])
    elif isinstance(shown, list):
        assert isinstance(found, list) and len(found) == len(shown), (found, shown)
        for one, other in zip(found, shown, strict=True):
            assert_like(one, other)
    else:
        assert found == shown


def assert_text_like(found: Any, shown: str) -> None:
    assert isinstance(found, str), (found, shown)
    pattern = ".*".join(re.escape(part) for part in shown.strip().split(ANYTHING))
    assert re.fullmatch(pattern, found.strip()), (found, shown)


def documents(text: str) -> list[Any]:
    """JSON values one after the other."""
    found, decoder = [], json.JSONDecoder()
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found
