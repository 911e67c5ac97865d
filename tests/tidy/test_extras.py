"""`pip install headrace` and each of its extras bring what the modules that they are for import, and nothing else does."""

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from typing import Any

import imports
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headrace.base.extras import EXTRA_OF, explained, installation_of

# What the modules of a folder, or one module, need beside the base; the longest name counts.
NEEDS = {
    "headrace": (),
    "headrace.aio": ("client",),
    "headrace.api": ("client",),
    "headrace.gateway": ("gateway",),
    "headrace.pipelines": ("spark",),
    "headrace.spark": ("spark",),
    "headrace.stores.etcd": ("etcd",),
    "headrace.testing.plugin": ("pytest",),
    # The commands whose work is a client's: each says so when it is called, and no other command loads them.
    "headrace.cli.security.certificates": ("secure",),
    "headrace.cli.run.gateway_config": ("gateway",),
    "headrace.cli.run.gateway_reload": ("gateway",),
    "headrace.cli.run.gateway_serving": ("gateway",),
    "headrace.cli.messages.group_reader": ("client",),
    "headrace.cli.messages.librdkafka": ("client",),
    "headrace.cli.messages.reader": ("client",),
    "headrace.cli.messages.sender": ("client",),
    "headrace.client.polled_consumer": ("client",),
}
# Not imported by us, and needed: libraries load them by themselves.
UNNAMED = {"httptools": "uvicorn's HTTP", "pandas": "PySpark's, for functions of users"}


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((imports.ROOT / "pyproject.toml").read_text())["project"]


def requirements(extra: str) -> list[Requirement]:
    told = project()["optional-dependencies"][extra] if extra else project()["dependencies"]
    return [Requirement(each) for each in told]


@cache
def brought(extra: str) -> frozenset[str]:
    """The distributions that are installed with the base, or with the base and an extra."""
    found: set[str] = set()
    waiting = [*requirements(""), *(requirements(extra) if extra else [])]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == "headrace":
            waiting += [each for own in requirement.extras for each in requirements(own)]
            continue
        key = f"{name}[{','.join(sorted(requirement.extras))}]"
        if key not in found:
            found |= {key, name}
            waiting += _required_by(name, requirement.extras)
    return frozenset(found)


def _required_by(name: str, extras: Iterable[str]) -> Iterator[Requirement]:
    for told in metadata.requires(name) or []:
        requirement = Requirement(told)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": each}) for each in ["", *extras]):
            yield requirement


@cache
def homes() -> dict[str, set[str]]:
    """Import name → the distributions that have it."""
    found = metadata.packages_distributions()
    return {name: {canonicalize_name(each) for each in distributions} for name, distributions in found.items()}


def extras_of(module: str) -> tuple[str, ...]:
    fitting = [name for name in NEEDS if is_below(module, name)]
    return NEEDS[max(fitting, key=len)]


def is_below(module: str, name: str) -> bool:
    """`stores.etcd` stands for `stores.etcd_map` too."""
    return module == name or module.startswith((f"{name}.", f"{name}_"))


def lacking(module: str) -> list[str]:
    extras = extras_of(module)
    there = frozenset().union(*(brought(extra) for extra in ("", *extras) if extra != "pytest"))
    known = {"pytest"} if "pytest" in extras else set[str]()
    return sorted(name for name in imports.loads(module) - known if not homes().get(name, set()) & there)


def test_every_module_can_be_imported_with_what_its_extra_brings() -> None:
    assert {module: missing for module in imports.modules() if (missing := lacking(module))} == {}


def test_an_extra_is_named_only_where_it_is_needed() -> None:
    """A broker that began to load a client would show here."""
    loaded = {
        name: {library for module in imports.modules() if is_below(module, name) for library in imports.loads(module)}
        for name, extras in NEEDS.items()
        if extras
    }
    assert [name for name, libraries in loaded.items() if not any(map(is_beside_base, libraries))] == []


def is_beside_base(library: str) -> bool:
    return not homes().get(library, set()) & brought("")


def test_what_is_imported_later_is_told_with_its_extra() -> None:
    """In functions: the command line and the Python API turn a missing library into `pip install 'headrace[…]'`."""
    used = {library for module in imports.modules() for library in imports.may_use(module)}
    assert {library for library in used if is_beside_base(library)} - EXTRA_OF.keys() == {"pytest"}
    assert [name for name, extra in EXTRA_OF.items() if not homes()[name] & brought(extra)] == []


@pytest.mark.parametrize("extra", ["", "client", "avro", "etcd", "gateway", "secure", "spark", "traces"])
def test_nothing_is_installed_for_nobody(extra: str) -> None:
    libraries = {library for module in imports.modules() for library in imports.may_use(module, with_optional=True)}
    used = {home for library in libraries for home in homes().get(library, ())}
    told = {canonicalize_name(each.name) for each in requirements(extra)} - {"headrace"}
    assert told - used - UNNAMED.keys() == set()


def test_every_extra_is_documented() -> None:
    readme = (imports.ROOT / "README.md").read_text()
    users = project()["optional-dependencies"].keys() - {"dev"}
    assert [extra for extra in users if f"headrace[{extra}]" not in readme] == []


def test_a_missing_library_is_told_with_the_fix() -> None:
    assert installation_of("confluent_kafka.admin") == "pip install 'headrace[client]'"
    assert installation_of("nothing_of_ours") == ""
    ours = explained(ModuleNotFoundError("No module named 'fastapi'", name="fastapi"))
    assert str(ours) == "fastapi is not installed: pip install 'headrace[gateway]'"
    other = ModuleNotFoundError("No module named 'x'", name="x")
    assert explained(other) is other
