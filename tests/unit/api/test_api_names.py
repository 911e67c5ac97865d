"""What `import headrace` gives has a name there: for sync and asyncio, for type checkers, and in docs/python.md."""

import ast
import builtins
import inspect
import keyword
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headrace
from headrace import api
from headrace.api.options import WELL_KNOWN
from headrace.api.sending import SendOptions

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "python.md").read_text()
PROSE = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
# The mission's calls, and what they are here.
CALLS = {
    "Produce": ("Client.produce", "Producer.send", "TransactionalProducer.transaction"),
    "Fetch": ("Client.fetch", "Consumer.messages", "Consumer.batches"),
    "CommitOffset": ("Consumer.commit_offset",),
    "JoinGroup": ("Client.join_group",),
    "Subscribe": ("Client.subscribe",),
    "CreateTopic": ("Client.create_topic",),
    "DescribeTopic": ("Client.describe_topic",),
    "AlterTopic": ("Client.alter_topic",),
    "GetLag": ("Client.lag",),
}
# An object that the page's prose names, and its class.
OBJECTS = {"client": "Client", "consumer": "Consumer", "producer": "Producer", "message": "Message", "headrace": ""}
# Python's own words, and commands, which tests/tidy/test_docs.py looks at.
OF_OPENTELEMETRY = {"tracer", "start_as_current_span"}
SETTINGS = {*WELL_KNOWN, "max.block.ms"}
OTHERS = re.compile(r"(make|pip|import|headrace) .*|await|async (for|with)|break|hello|acks=all|HEADRACE_[A-Z]+")


def named(path: str, module: object = headrace) -> object:
    for part in path.split("."):
        module = getattr(module, part)
    return module


@pytest.mark.parametrize("call", CALLS)
def test_every_call_of_the_mission_is_there_and_on_the_page(call: str) -> None:
    assert re.search(rf"\b{call}\b", PAGE)
    for path in CALLS[call]:
        assert callable(named(path)), path
        assert f"{path.split('.')[1]}(" in PAGE, path


def test_the_package_has_all_names_of_its_room() -> None:
    exported = set(headrace.__all__) - {"__version__", "aio"}
    assert exported == set(api.__all__) == set(headrace.aio.__all__)
    assert {name: named(name) for name in exported} == {name: named(name, api) for name in exported}


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "src" / "headrace" / "__init__.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "headrace.api"]
    assert {alias.name for node in imports for alias in node.names} == set(api.__all__)


def test_every_error_and_result_has_a_name() -> None:
    """What a call returns or raises can be written in an annotation or an `except`."""
    public = [kind for module in MODULES for kind in vars(named(module, api)).values() if is_public(kind, module)]
    assert {kind.__name__ for kind in public} <= set(api.__all__)
    assert {"DeliveryFailed", "Lag", "Webhook"} <= {kind.__name__ for kind in public}


MODULES = ("errors", "topics", "webhooks", "delivery", "message")
INNER = {"Topics", "Failures"}


def is_public(kind: object, module: str) -> bool:
    own = isinstance(kind, type) and kind.__module__ == f"headrace.api.{module}"
    return own and isinstance(kind, type) and kind.__name__ not in INNER


def test_every_name_in_the_prose_exists() -> None:
    names = known_names()
    used = [each for each in re.findall(r"`([^`]+)`", PROSE) if not OTHERS.fullmatch(each)]
    assert len(used) > 30
    assert {each: lost for each in used if (lost := [*unknown(each, names)])} == {}


def test_every_name_in_a_program_exists() -> None:
    used = set(re.findall(r"\bheadrace\.((?:aio\.)?\w+)", PAGE))
    assert {"connect", "Message", "aio.connect"} <= used
    for path in used:
        named(path)


def test_a_name_that_is_not_there_is_found() -> None:
    names = known_names()
    assert [*unknown("headrace.DeliverFailed", names)] == ["headrace.DeliverFailed", "DeliverFailed"]
    assert [*unknown("client.lags(group).partitions", names)] == ["client.lags", "lags"]
    assert [*unknown("acknowledge", names)] == ["acknowledge"]


def unknown(code: str, names: set[str]) -> Iterator[str]:
    bare = re.sub(r'"[^"]*"', "", code)
    for owner, name in re.findall(r"\b(\w+)\.(\w+)", bare):
        if owner in OBJECTS and not hasattr(named(OBJECTS[owner]) if OBJECTS[owner] else headrace, name):
            yield f"{owner}.{name}"
    if bare not in SETTINGS:
        yield from (word for word in re.findall(r"[A-Za-z_]\w*", bare) if word not in names)


def known_names() -> set[str]:
    """Of classes, their attributes and fields, and the parameters of what can be called; settings of librdkafka."""
    found = {*headrace.__all__, *OBJECTS, *SendOptions.__annotations__, *dir(builtins), *keyword.kwlist}
    found |= {name.replace(".", "_") for name in SETTINGS} | {*dir(headrace.ApiError("", "")), *OF_OPENTELEMETRY}
    for name in api.__all__:
        thing = named(name)
        calls = [thing, *vars(thing).values()] if isinstance(thing, type) else [thing]
        found |= {*dir(thing), *getattr(thing, "__annotations__", ())}
        found |= {name for call in calls if callable(call) for name in parameters(call)}
    return found


def parameters(call: Callable[..., object]) -> list[str]:
    try:
        return list(inspect.signature(call).parameters)
    except (TypeError, ValueError):
        return []
