"""Pages of this repository, and what they name: code, links, headings and paths. Read as text: nothing is run."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "deploy", "bench", "tests", "tools", "src")
SOURCE_FOLDERS = ("src", "tools", "bench", "tests")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
PATH = re.compile(r"(?<![\w/.:$@*{}<>~-])(?:\.{1,2}/)*([\w.*-]+(?:/[\w.*@-]+)+/?)")


class Code(NamedTuple):
    """A line of a code block, or what stands between backticks."""

    text: str
    is_span: bool


@cache
def pages() -> dict[str, str]:
    """Everything in Markdown, also what comes later; what is made by a run (`bench/out`) is no page."""
    found = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
    return {_name(path): path.read_text() for path in sorted(found) if "out" not in path.relative_to(ROOT).parts}


@cache
def deployed() -> dict[str, str]:
    """The files of deploy/, which name commands and pages in comments too."""
    return {_name(path): path.read_text() for path in sorted((ROOT / "deploy").rglob("*")) if path.is_file()}


@cache
def sources() -> dict[str, str]:
    found = (path for folder in SOURCE_FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return {_name(path): path.read_text() for path in sorted(found)}


def blocks(text: str, language: str) -> list[str]:
    return [body for _, kind, body in FENCE.findall(text) if kind == language]


def code(text: str) -> Iterator[Code]:
    """Of a page; a line that ends in a backslash goes on in the next."""
    for _, language, body in FENCE.findall(text):
        if language != "python":
            yield from (Code(line, False) for line in joined(body))
    yield from (Code(" ".join(span.split()), True) for span in SPAN.findall(FENCE.sub("", text)))


def joined(text: str) -> list[str]:
    return re.sub(r"\\\n\s*", "", text).splitlines()


def links(text: str) -> list[str]:
    targets = [first or second for first, second in LINK.findall(FENCE.sub("", text))]
    return [each for each in targets if not re.match(r"[a-z]+:|//", each)]


def anchors(text: str) -> set[str]:
    """Of its headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def lost_links(page: str, text: str) -> Iterator[str]:
    for link in links(text):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            yield link


def lost_paths(text: str) -> Iterator[str]:
    """Paths that begin at the root or, if they name a Python file, anywhere: `run/serve.py`, `sender.py`."""
    for found in PATH.findall(text):
        path = found.rstrip("/.")
        if path.startswith("bench/out"):
            continue
        is_there = any(ROOT.glob(path)) if is_of_repository(path) else is_file_somewhere(path)
        if not is_there and (is_of_repository(path) or path.endswith(".py")):
            yield path
    yield from (each for each in re.findall(r"`([\w*]+\.py)`", text) if not is_file_somewhere(each))


def is_of_repository(path: str) -> bool:
    return path.partition("/")[0] in (*FOLDERS, ".ci")


def is_file_somewhere(path: str) -> bool:
    return any(any((ROOT / folder).rglob(path)) for folder in FOLDERS)


def lost_pages(text: str) -> Iterator[str]:
    """Names of pages in source code: `docs/cli.md`, or a bare name of docs/ or the root."""
    for found in re.findall(r"(?<![\w/.{}*-])([\w-]+(?:/[\w-]+)*\.md)\b", text):
        is_bare = "/" not in found
        if not (ROOT / found).exists() and not (is_bare and (ROOT / "docs" / found).exists()):
            yield found


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))
