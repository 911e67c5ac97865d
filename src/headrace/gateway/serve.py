"""A gateway in the foreground: uvicorn on uvloop until a signal, or the end of the parent, asks it to stop."""

import asyncio
import contextlib
import ctypes
import gc
import os
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from headrace.base.errors import UserError
from headrace.gateway.app import create_app, front_door
from headrace.gateway.callers.callers import Callers
from headrace.gateway.gateway import Gateway
from headrace.gateway.protocol import BoundedProtocol, sweep
from headrace.gateway.push.hub import Hub
from headrace.gateway.settings import GatewaySettings
from headrace.gateway.socket_protocol import LingeringSocketProtocol
from headrace.gateway.tls import Certificate

GATEWAY_STOP_SECONDS_MAX = 3
FAREWELL_SECONDS = 0.1
KEEP_ALIVE_SECONDS = 75
BACKLOG = 2048
# Clients commit (the longest id of an event has 50 kB), and pages of the UI send what was typed or chosen.
SOCKET_MESSAGE_BYTES_MAX = 2 << 20
# A large body makes thousands of objects that live for a moment and form no cycles.
NEW_OBJECTS_MAX = 50_000
KEPT_BYTES_MAX = 64 << 20
# mallopt(3): above which size a block comes from the system and goes back to it, and how much may lie unused.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def serve(settings: GatewaySettings, on_ready: Callable[[int], None], parent_fd: int = -1) -> None:
    """`on_ready` is given the port. A pipe that only the parent holds open ends us with it."""
    certificate = Certificate(settings) if settings.is_tls else None
    app = create_app(settings)
    listening = _listen(settings)
    server = _Server(_config(app), app.state.gateway, on_ready, parent_fd, certificate)
    server.run([listening])


def _config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        front_door(app),
        loop="uvloop",
        http=BoundedProtocol,
        ws=LingeringSocketProtocol,
        # Each connection would compress the same frame again, and keep a window of its own for it.
        ws_per_message_deflate=False,
        ws_max_size=SOCKET_MESSAGE_BYTES_MAX,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GATEWAY_STOP_SECONDS_MAX,
    )


def _listen(settings: GatewaySettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Inherited by every connection: who takes nothing of a reply for so long is cut off, or would keep its place for
        # ever. macOS has no such limit.
        taken_ms_max = int(settings.push_send_seconds_max * 1000)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, taken_ms_max)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise UserError(
            f"cannot listen on {settings.host}:{settings.port}: {reason}", "choose another with --port or --host"
        ) from None
    return listening


class _Server(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        gateway: Gateway,
        on_ready: Callable[[int], None],
        parent_fd: int,
        certificate: Certificate | None,
    ) -> None:
        super().__init__(config)
        self._gateway = gateway
        self._on_ready = on_ready
        self._parent_fd = parent_fd
        self._certificate = certificate
        self._looks: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._certificate is not None:
            self.config.ssl = self._certificate.context
            self._looks.append(asyncio.create_task(self._certificate.watch()))
        await super().startup(sockets)
        if self.should_exit:
            raise UserError("the gateway could not start", "its log says why")
        assert sockets, "we listen ourselves"
        head_seconds_max = self._gateway.settings.head_seconds_max
        self._looks.append(asyncio.create_task(sweep(self.server_state.connections, head_seconds_max)))
        self._stop_with_parent()
        _leave_alone_what_is_there()
        _keep_memory()
        self._on_ready(sockets[0].getsockname()[1])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for look in self._looks:
            look.cancel()
        # Streams have no end of their own, and uvicorn waits for one.
        self._gateway.part(Hub).end_all("the gateway stops")
        if self._gateway.trust is not None:
            self._gateway.part(Callers).end_streams("the gateway stops")
        # It would close WebSockets with a code of its own before they can say why.
        await asyncio.sleep(FAREWELL_SECONDS)
        await super().shutdown(sockets)

    def _stop_with_parent(self) -> None:
        """Stops the gateway when the pipe from its parent closes: nobody ever writes into it, so readable means closed."""
        if self._parent_fd < 0:
            return
        os.set_inheritable(self._parent_fd, False)
        loop = asyncio.get_running_loop()

        def on_parent_gone() -> None:
            loop.remove_reader(self._parent_fd)
            self.should_exit = True

        loop.add_reader(self._parent_fd, on_parent_gone)


def _leave_alone_what_is_there() -> None:
    """Modules and routes stay until the end: walking over them again and again took a third of the time of a large POST."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_MAX, *gc.get_threshold()[1:])


def _keep_memory() -> None:
    """Bodies and pages of a megabyte come and go; memory that is given back after each is paid for again, page by page."""
    with contextlib.suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, KEPT_BYTES_MAX // 2)
        libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES_MAX)
