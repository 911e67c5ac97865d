"""SIGHUP to `headrace serve --config FILE`: the file is read again, and what can change in a running broker does.

A broker of `headrace up` is told by its parent what that has read.
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import NamedTuple

from headrace.base.errors import UserError
from headrace.broker.node import Node
from headrace.cli.run.new_options import NewOptions
from headrace.cli.run.serve_options import ServeOptions
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.broker_settings import broker_setting

logger = logging.getLogger("headrace.serve")


class Reloaded(NamedTuple):
    """The settings that count from now on, and the names of those that changed: at once, or with the next start."""

    settings: dict[str, str]
    now: list[str]
    later: list[str]


def compared(before: dict[str, str], after: dict[str, str]) -> Reloaded:
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    now = [name for name in changed if (setting := broker_setting(name)) is not None and setting.dynamic]
    settings = {**before, **{name: after[name] for name in now if name in after}}
    for name in now:
        if name not in after:
            del settings[name]
    return Reloaded(settings, now, [name for name in changed if name not in now])


def reload_on_sighup(node: Node, read_again: Callable[[], ServeOptions]) -> None:
    """Reads the file again on SIGHUP. Without a file the signal keeps its meaning, a terminal that is gone."""
    running: set[asyncio.Task[None]] = set()

    def on_signal() -> None:
        task = asyncio.create_task(_reload(node, read_again))
        running.add(task)
        task.add_done_callback(running.discard)

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, on_signal)


async def _reload(node: Node, read_again: Callable[[], ServeOptions]) -> None:
    try:
        options = read_again()
        BrokerConfig(options.settings)
    except UserError as error:
        logger.error("SIGHUP: nothing was changed: %(cause)s; %(fix)s", {"cause": error.cause, "fix": error.fix})
        return
    await change(node, NewOptions(options.settings, options.log_level), "SIGHUP")


async def change(node: Node, options: NewOptions, by: str) -> None:
    """`by` is who asked for it."""
    logging.getLogger().setLevel(options.log_level.upper())
    reloaded = compared(dict(node.broker.view.config.static), options.settings)
    await _apply(node, reloaded.settings)
    changed = ", ".join(reloaded.now) or "nothing"
    logger.info("%(cause)s: the settings were read again; changed: %(settings)s", {"cause": by, "settings": changed})
    if reloaded.later:
        logger.warning("these count from the next start on: %(settings)s", {"settings": ", ".join(reloaded.later)})


async def _apply(node: Node, settings: dict[str, str]) -> None:
    view = node.broker.view
    view.config = BrokerConfig(settings, view.config.dynamic, view.config.dynamic_default)
    # As with settings that are changed in the metadata: topics that have the broker's defaults get the new ones.
    await view.metadata.show_again()
