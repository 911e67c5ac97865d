"""Names of topics as the cluster takes them: refusals with their error code, and names that would clash."""

from collections.abc import Iterable

from headrace.base.errors import Refused
from headrace.base.topic_names import topic_name_problem
from headrace.wire.codes import ErrorCode


def check_topic_name(name: str) -> None:
    problem = topic_name_problem(name)
    if problem:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)


def check_no_clash(name: str, existing: Iterable[str]) -> None:
    """Refuses a name that differs from another only in '.' and '_', which are the same in metric names."""
    if "." not in name and "_" not in name:
        return
    flat, length = name.replace(".", "_"), len(name)
    for other in existing:
        if len(other) == length and other.replace(".", "_") == flat and other != name:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"topic {name} would clash with {other}: '.' and '_' are the same in metric names",
            )
