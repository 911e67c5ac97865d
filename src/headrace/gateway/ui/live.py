"""Pages that stay true while they are open, and things that people do on them: both fail with a sentence, not a page."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from confluent_kafka import KafkaException
from nicegui import ui

from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.kafka_problems import problem_words
from headrace.gateway.problem import Problem
from headrace.gateway.ui.pieces import Notice, button, empty

EVERY_SECONDS = 2.0
TROUBLE = (Refused, Disconnected, Problem, KafkaException, TimeoutError, OSError, ValueError, BufferError)

T = TypeVar("T")


def keep_fresh(refresh: Callable[[], Awaitable[None]], seconds: float = EVERY_SECONDS) -> Callable[[], Awaitable[None]]:
    """Calls it now and again while this page is open; returns the same as a call that says what went wrong."""
    notice = Notice()

    async def tick() -> None:
        try:
            await refresh()
        except TROUBLE as error:
            notice.show(f"{sentence(error)} What you see is the last that was known.", "warn")
        else:
            notice.show("")

    ui.timer(seconds, tick)
    return tick


async def answered(question: Awaitable[T]) -> T | None:
    """The answer that a page needs to be built; without one, the page shows the error in its place."""
    try:
        return await question
    except TROUBLE as error:
        empty("cloud_off", "This cannot be shown now", sentence(error))
        button("Try again", ui.navigate.reload).style("align-self: center")
        return None


async def attempt(deed: Awaitable[object], done: str) -> bool:
    """Does what a person asked for, and shows how it went."""
    try:
        await deed
    except TROUBLE as error:
        complain(error)
        return False
    ui.notify(done, type="positive")
    return True


def complain(error: BaseException) -> None:
    ui.notify(sentence(error), type="negative", timeout=10_000, close_button="Close")


def sentence(error: BaseException) -> str:
    match error:
        case Refused():
            words = problem_words(error.code)
            return _ended(error.message or words.sentence) + f" To fix it: {words.fix}."
        case Problem():
            return _ended(error.detail) + (f" To fix it: {error.fix}." if error.fix else "")
        case KafkaException():
            return _ended(str(error.args[0].str()))
        case Disconnected() | OSError():
            return "No broker answers at the moment."
        case BufferError():
            return "The gateway's send queue is full; try again in a moment."
        case _:
            return _ended(str(error) or type(error).__name__)


def _ended(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
