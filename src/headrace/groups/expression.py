"""Regular expressions that subscribe to topics.

RE2 decides whether a name matches in time linear in the name: there is no pattern with which a client could stop the
broker, as Python's own `re` has many.
"""

from typing import Any

import re2

LENGTH_MAX = 1_000
# The memory of one compiled expression; RE2 refuses a larger one.
MEMORY_BYTES_MAX = 1 << 20


class BadExpression(ValueError):
    pass


def compile_expression(text: str) -> Any:
    """A compiled expression. Use `fullmatch(name)`: the whole name has to match, as in Kafka."""
    if len(text) > LENGTH_MAX:
        raise BadExpression(f"an expression has at most {LENGTH_MAX} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY_BYTES_MAX
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0]
        raise BadExpression(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from None
    except UnicodeEncodeError:
        raise BadExpression("it is not text") from None
