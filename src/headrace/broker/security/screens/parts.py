"""The steps that screens share: to part a list by rights, and to answer what one operation decides."""

from collections.abc import Callable
from typing import Any, TypeVar

from headrace.broker.net.dispatch import Proceed, Request, Screen
from headrace.broker.security.rights import Rights
from headrace.cluster.image import Image
from headrace.security.operations import Operation

T = TypeVar("T")


def take_out(items: list[T], is_allowed: Callable[[T], object]) -> list[T]:
    """Leaves what is allowed in the list, and returns the rest."""
    denied: list[T] = []
    allowed: list[T] = []
    for each in items:
        (allowed if is_allowed(each) else denied).append(each)
    if denied:
        items[:] = allowed
    return denied


def answer_rest(request: Request, proceed: Proceed, refused: list[Any], place: Callable[[Any], list[Any]]) -> Any:
    """Lets the handler answer what is left of a request; to the place in its reply come the refused parts."""
    request.amend(lambda response: place(response).extend(refused))
    return proceed()


def may_with_topic(rights: Rights, image: Image, operation: Operation, name: str, topic_id: bytes) -> bool:
    """Whether the operation is allowed on a topic that is called by name, or by id where the name is empty.

    An id that no topic has is let through: the handler says so, since ids are no secret.
    """
    known: str | None = name or image.topic_names.get(topic_id)
    return known is None or rights.topic(operation, known)


def with_cluster(*operations: Operation, refused: Callable[[Any], Any]) -> Screen:
    """The screen of an API that any of these operations on the cluster opens, or that is refused as a whole."""

    def screen(image: Image, request: Request, proceed: Proceed) -> Any:
        if any(request.rights.cluster(operation) for operation in operations):
            return proceed()
        return refused(request.body)

    return screen
