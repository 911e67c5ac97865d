"""The options of a command as one value: a dataclass whose fields are typer's options, each with its default."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_type_hints


def takes(kind: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a command of a function that is given `options`, a value of this kind, beside its own parameters."""
    hints = get_type_hints(kind, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    declared = [
        inspect.Parameter(each.name, keyword, default=each.default, annotation=hints[each.name])
        for each in fields(kind)
    ]
    names = {each.name for each in declared}

    def made(command: Callable[..., Any]) -> Callable[..., Any]:
        def run(**given: Any) -> Any:
            options = kind(**{name: value for name, value in given.items() if name in names})
            return command(options=options, **{name: value for name, value in given.items() if name not in names})

        own = [each for each in inspect.signature(command).parameters.values() if each.name != "options"]
        first = [each.replace(kind=keyword) for each in own if each.default is inspect.Parameter.empty]
        last = [each.replace(kind=keyword) for each in own if each.default is not inspect.Parameter.empty]
        parameters = [*first, *declared, *last]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return made
