"""Pages, the files of deploy/ and docstrings name only what exists: links, files, commands, options, targets, modules.

Every page is read, also those that come later. What a page may name is asked of the real thing: Typer's tree, the parser of
`serve`, the Makefile, the parsers of the configuration file.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from commands import every_option, faults, faults_of_make, lost_modules
from documents import Code, blocks, code, deployed, joined, lost_links, lost_pages, lost_paths, pages, sources

from headrace.base.errors import UserError
from headrace.cli.config.file import parse_config
from headrace.cli.run.gateway_config import gateway_settings
from headrace.cluster.broker_config import BrokerConfig

# Options that pages name between backticks and that belong to programs of others.
OF_OTHERS = {
    "curl": {"--max-time"},
    "etcd": {"--auto-compaction-mode", "--auto-compaction-retention"},
}
Finder = Callable[[str], Iterator[str]]


def lines(text: str) -> list[Code]:
    return [Code(line, False) for line in joined(text)]


def found(texts: dict[str, str], find: Finder) -> list[str]:
    return [f"{name}: {each}" for name, text in texts.items() for each in find(text)]


def found_in_code(find: Callable[[Code], Iterator[str]]) -> list[str]:
    named = {**{name: list(code(text)) for name, text in pages().items()}}
    named |= {name: lines(text) for name, text in deployed().items()}
    return [f"{name}: {each} in `{line.text}`" for name, all in named.items() for line in all for each in find(line)]


def test_links_and_their_anchors() -> None:
    assert len(pages()) > 25
    assert [f"{name}: {each}" for name, text in pages().items() for each in lost_links(name, text)] == []


def test_paths_in_pages_and_deployed_files() -> None:
    assert found({**pages(), **deployed()}, lost_paths) == []


def test_pages_that_sources_and_deployed_files_name() -> None:
    """Programs of bench/ and tests/ write pages of their own too."""
    ours = {name: text for name, text in sources().items() if name.startswith("src/")}
    assert found({**ours, **deployed()}, lost_pages) == []


def test_paths_in_docstrings_and_comments() -> None:
    assert found(sources(), lost_paths_of_source) == []


def lost_paths_of_source(text: str) -> Iterator[str]:
    """Those of Python files and pages: others may be of a disk, or of an address."""
    comments = "\n".join(re.findall(r"\"{3}[\s\S]*?\"{3}|(?:^ *|  )# .*", text, re.MULTILINE))
    return (each for each in lost_paths(comments) if each.endswith((".py", ".md")))


def test_commands_and_their_options() -> None:
    assert found_in_code(faults) == []


def test_options_between_backticks() -> None:
    assert found_in_code(unknown_option) == []


def unknown_option(line: Code) -> Iterator[str]:
    known = every_option().union(*OF_OTHERS.values())
    if line.is_span and line.text.startswith("--"):
        yield from (each for each in re.findall(r"(?<!\S)(--[\w-]+)", line.text) if each not in known)


def test_targets_of_make() -> None:
    assert found_in_code(faults_of_make) == []


def test_modules_that_are_run() -> None:
    assert found({**pages(), **deployed()}, lost_modules) == []


def test_configuration_files() -> None:
    """Those of docs/config-file.md, and of any page to come, go through the parsers that commands use."""
    files = {name: body for name, text in pages().items() for body in blocks(text, "toml")}
    files |= {name: text for name, text in deployed().items() if name.endswith(".toml")}
    assert len(files) >= 3
    assert [f"{name}: {each}" for name, text in files.items() for each in refusals(name, text)] == []


def refusals(name: str, text: str) -> Iterator[str]:
    try:
        file = parse_config(name, text)
        BrokerConfig(file.broker)
        gateway_settings(file, {})
    except UserError as error:
        yield f"{error.cause} ({error.fix})"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("headrace topics list", "headrace has no command topics"),
        ("$ headrace topic make orders", "headrace topic has no command make"),
        (".venv/bin/headrace up --broker 3", "no option --broker"),
        ("headrace serve --advertise-host a", "no option --advertise-host"),
        ("ExecStart=/opt/headrace/bin/headrace gateway --conf x", "no option --conf"),
        ("headrace cluster add | rebalance | drained 3", ""),
        ("headrace cluster drain | rebalance [--throttled 5]", "no option --throttled"),
        ("headrace config check|view", "headrace config has no command view"),
        ("headrace consume orders --json | jq -r .value", ""),
        ("echo 1 | headrace produce orders -Z x", "no option -Z"),
        ("from headrace import connect", ""),
        ("headrace --versions", "no option --versions"),
    ],
)
def test_a_command_that_is_not_there_is_found(text: str, fault: str) -> None:
    assert list(faults(Code(text, False))) == [fault] * bool(fault)


def test_what_else_is_not_there_is_found() -> None:
    assert [*lost_links("README.md", "[a](docs/cli.md#nothing) [b](docs/none.md) [c](docs/cli.md)")] == [
        "docs/cli.md#nothing",
        "docs/none.md",
    ]
    assert [*lost_paths("`broker/nothing.py`, `nobody.py`, `cli/app.py`, tests/none, /docs/x, `app.py`")] == [
        "broker/nothing.py",
        "tests/none",
        "nobody.py",
    ]
    assert [*lost_pages("see docs/none.md, cli.md and README.md")] == ["docs/none.md"]
    assert [*lost_modules("python -m bench.rest, python3 -P -m bench.none")] == ["bench.none"]
    assert [*faults_of_make(Code("make tests ARG=1 WORKERS=4", False))] == [
        "make has no target tests",
        "the Makefile has no variable ARG",
    ]
    assert [*unknown_option(Code("--end-stopped-afters 3", True))] == ["--end-stopped-afters"]
    assert [*refusals("a.toml", "[serve]\nadvertised-hosts = 'a'\n")] != []
    assert [*refusals("a.toml", "[gateway]\nmessage_max = 1\n")] != []
