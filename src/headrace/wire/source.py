"""Python source under construction: what both message compilers write into.

Generated code is straight-line Python over local variables; everything it needs from outside is a named constant, so
that the function it becomes has no imports and no attribute look-ups on its path.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct as Layout
from typing import Any


class Source:
    def __init__(self, **constants: Any) -> None:
        self._lines: list[str] = []
        self._depth = 1
        self._constants = constants
        self._fresh = 0

    def line(self, text: str) -> None:
        self._lines.append(" " * self._depth + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        self.line(header)
        self._depth += 1
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self.line("pass")
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """A variable name that nothing else uses: all nested structs share one function."""
        self._fresh += 1
        return f"{stem}{self._fresh}"

    def constant(self, name: str, value: Any) -> str:
        known = self._constants.setdefault(name, value)
        if known is not value and known != value:
            return self.constant(name + "_", value)
        return name

    def layout(self, codes: list[str], method: str) -> tuple[str, int]:
        """The name of a bound method of the struct layout for these codes, and the layout's size."""
        form = ">" + "".join(codes)
        name = f"{method}_{form[1:].replace('?', 'o')}"
        if name not in self._constants:
            self._constants[name] = getattr(Layout(form), method)
        return name, Layout(form).size

    def function(self, title: str, parameters: str) -> Any:
        text = f"def run({parameters}):\n" + "\n".join(self._lines)
        exec(compile(text, f"<{title}>", "exec"), self._constants)
        return self._constants["run"]
