"""Tells the service manager that started us (systemd, `Type=notify`) when we serve and when we stop, and, if it wants to
know (`WatchdogSec`), that the event loop turns: a broker that stands still is ended by it, so that no client waits for it.

Without one there is no NOTIFY_SOCKET in the environment, and nothing happens; nor when it is not listening any more.
"""

import asyncio
import contextlib
import os
import socket

READY = "READY=1"
STOPPING = "STOPPING=1"
ALIVE = "WATCHDOG=1"
# In the time that the service manager is patient.
BEATS = 4


def tell_service_manager(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        # A name that is in no file system.
        address = f"\0{address[1:]}"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
        notice.sendto(state.encode(), address)


async def keep_telling() -> None:
    """Tells the service manager that the broker is alive, until cancelled; returns at once where no watchdog is set."""
    patience_s = int(os.environ.get("WATCHDOG_USEC") or 0) / 1e6
    while patience_s:
        tell_service_manager(ALIVE)
        await asyncio.sleep(patience_s / BEATS)
