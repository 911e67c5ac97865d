"""SIGHUP to `headrace gateway --config FILE`: the file is read again. The log level changes; settings wait for a start."""

import asyncio
import logging
import signal
from collections.abc import Callable

from headrace.base.errors import UserError
from headrace.gateway.settings import GatewaySettings

logger = logging.getLogger("headrace.gateway")
Read = Callable[[], tuple[GatewaySettings, str]]


def reload_on_sighup(running: GatewaySettings, read_again: Read) -> None:
    """`read_again` returns the settings and the log level as the file has them now."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, running, read_again)


def _reload(running: GatewaySettings, read_again: Read) -> None:
    try:
        settings, level = read_again()
    except UserError as error:
        logger.error("SIGHUP: nothing was changed: %(cause)s; %(fix)s", {"cause": error.cause, "fix": error.fix})
        return
    logging.getLogger().setLevel(level.upper())
    logger.info("SIGHUP: the settings were read again; log level: %(settings)s", {"settings": level})
    later = changed_names(running, settings)
    if later:
        logger.warning("these count from the next start on: %(settings)s", {"settings": ", ".join(later)})


def changed_names(before: GatewaySettings, after: GatewaySettings) -> list[str]:
    return [name for name in GatewaySettings.model_fields if getattr(before, name) != getattr(after, name)]
