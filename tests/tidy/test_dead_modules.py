"""Every module is imported by another one, is a program, or is offered to users by a page of docs/."""

import ast
import tomllib

import imports
from shrinking import hold

ALLOWED = {
    # The store that tests of the cluster and its contract run on.
    "headrace.stores.memory",
}


def imported() -> set[str]:
    named = ((name, imports.imported(name, ast.walk(tree))) for name, tree in imports.modules().items())
    return {each for name, found in named for each in found if each != name}


def programs() -> set[str]:
    project = tomllib.loads((imports.ROOT / "pyproject.toml").read_text())["project"]
    scripts = [*project["scripts"].values(), *project["entry-points"]["pytest11"].values()]
    run = {name for name, path in imports.files().items() if '__name__ == "__main__"' in path.read_text()}
    return (
        run | {each.partition(":")[0] for each in scripts} | {name for name in imports.modules() if "__main__" in name}
    )


def documented() -> set[str]:
    text = "".join(page.read_text() for page in (imports.ROOT / "docs").glob("*.md"))
    return {name for name in imports.modules() if name in text}


def packages() -> set[str]:
    return {name for name, path in imports.files().items() if path.name == "__init__.py"}


def test_every_module_is_used() -> None:
    used = imported() | programs() | documented() | packages()
    hold(imports.modules().keys() - used, ALLOWED, "delete it, or move it to the tests")


def test_what_is_used_is_found() -> None:
    assert "headrace.base.clock" in imported()
    assert "headrace.gateway" in programs() | packages()
    assert "headrace.spark.query_progress" in documented() - imported()
