"""Commands and options that a text names, held against those that there are: headrace, make and `python -m`."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

from documents import ROOT, Code, sources
from typer.core import TyperGroup

from headrace.cli.app import command_tree
from headrace.cli.run.serve_options import _parser

CALL = re.compile(r"(?<![\w./-])(?:[\w./]*bin/)?headrace +(?=[a-z-])")
# What ends a command in a shell, and in a sentence.
END = re.compile(r" *(;|&&|\d?>|<(?= )|(?<= )#|\)|`|…)")
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
# Words that stand after the name in a text that runs no command: a package, a user, a key of etcd.
NO_COMMAND = re.compile(r"(from|import|role|user|install|useradd|build|grant-permission) ")


@cache
def tree() -> TyperGroup:
    return command_tree()


@cache
def options(*words: str) -> frozenset[str]:
    """Of the command that these words name; every command takes --help."""
    command: Any = tree()
    for word in words:
        assert isinstance(command, TyperGroup)
        command = command.commands[word]
    found = {each for parameter in command.params for each in (*parameter.opts, *parameter.secondary_opts)}
    if words == ("serve",):
        found |= {each for action in _parser()._actions for each in action.option_strings}
    # `main` answers --version before typer is imported.
    return frozenset(found | {"--help", "-h"} | (set() if words else {"--version", "-V"}))


@cache
def every_option() -> frozenset[str]:
    """Of headrace, and of the programs of this repository that read their own."""
    paths = [(name,) for name in tree().commands]
    for name, group in tree().commands.items():
        if isinstance(group, TyperGroup):
            paths += [(name, each) for each in group.commands]
    own = re.findall(r"add(?:_argument|option)\(\s*\"(--?[\w-]+)\"", "".join(sources().values()))
    return frozenset().union(*(options(*path) for path in paths)) | set(own) | options()


def faults(line: Code) -> Iterator[str]:
    for call in CALL.finditer(line.text):
        if not NO_COMMAND.search(line.text[: call.start()]):
            rest = line.text[call.end() :]
            end = END.search(rest)
            yield from faults_of_call(rest[: end.start()] if end else rest)


def faults_of_call(text: str) -> Iterator[str]:
    """Of what follows `headrace`, where a | may part commands of a pipe, or what may stand in one place."""
    first, _, rest = text.partition(" ")
    if first.startswith("-"):
        yield from unknown_options(text, options())
        return
    for name in first.split("|"):
        if name not in tree().commands:
            yield f"headrace has no command {name}"
            return
    group = tree().commands[first.split("|")[0]]
    if isinstance(group, TyperGroup) and re.match(r"[a-z]", rest):
        yield from faults_of_group(first, group, rest)
    else:
        known = frozenset().union(*(options(name) for name in first.split("|")))
        yield from unknown_options(rest.split(" | ")[0], known)


def faults_of_group(name: str, group: TyperGroup, rest: str) -> Iterator[str]:
    """`list|describe`, or `drain 3 | rebalance`; after another | stands the next command of a pipe."""
    commands: list[str] = []
    for part in re.split(r" \|(?! *-)", rest):
        words = part.split()[0].split("|")
        if commands and not group.commands.keys() & set(words):
            break
        for word in words:
            if word not in group.commands:
                yield f"headrace {name} has no command {word}"
                return
        commands += words
    known = frozenset().union(*(options(name, each) for each in commands))
    yield from unknown_options(rest if len(commands) > 1 else rest.split(" | ")[0], known)


def unknown_options(text: str, known: frozenset[str]) -> Iterator[str]:
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", text)
    yield from (f"no option {each}" for each in OPTION.findall(bare) if each not in known)


def faults_of_make(line: Code) -> Iterator[str]:
    """`make test ARGS=…` as a command: at the start of a line or a span, or after what a shell ends a command with."""
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z]+):", text, re.MULTILINE))
    for call in re.findall(r"(?:^|&& |; )(?:\$ )?make( [^`#&;|]*)?", line.text):
        bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", call)
        words = [word for word in bare.split() if "=" not in word and not word.startswith("-")]
        yield from (f"make has no target {word}" for word in words if word not in targets)
        for name in re.findall(r"\b([A-Z]+)=", bare):
            if not re.search(rf"^{name} |\({name}\)", text, re.MULTILINE):
                yield f"the Makefile has no variable {name}"


def lost_modules(text: str) -> Iterator[str]:
    for name in re.findall(r"python[0-9.]* (?:-\w )*-m ([\w.]+)", text):
        if not is_module(name.rstrip(".")):
            yield name


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
