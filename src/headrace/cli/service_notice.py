"""Tells the service manager that started us (systemd, `Type=notify`) when we serve and when we stop.

Without one there is no NOTIFY_SOCKET in the environment, and nothing happens; nor when it is not listening any more.
"""

import contextlib
import os
import socket

READY = "READY=1"
STOPPING = "STOPPING=1"


def tell_service_manager(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        # A name that is in no file system.
        address = f"\0{address[1:]}"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notice:
        notice.sendto(state.encode(), address)
