"""A gateway that has begun to serve: it tells the service manager, its parent and the person, and reads its file again."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from headrace.cli.config.file import read_config
from headrace.cli.output import remark, show_json
from headrace.cli.run.gateway_config import gateway_settings
from headrace.cli.run.gateway_options import LOG_LEVEL, GatewayOptions
from headrace.cli.run.gateway_reload import reload_on_sighup
from headrace.cli.run.service_notice import READY, keep_telling, tell_service_manager
from headrace.cli.run.status_line import ReadyStatus, StatusPipe
from headrace.gateway.settings import GatewaySettings


class GatewayServing:
    """`given` and `given_level` are those of the command line, which win over a file that is read again."""

    def __init__(
        self, options: GatewayOptions, settings: GatewaySettings, given: Mapping[str, Any], given_level: str | None
    ) -> None:
        self.status = StatusPipe(options.ready_fd)
        self._options, self._settings = options, settings
        self._given, self._given_level = given, given_level
        self._beating: asyncio.Task[None] | None = None

    def on_ready(self, port: int) -> None:
        tell_service_manager(READY)
        # As long as the loop turns; without a watchdog it ends at once.
        self._beating = asyncio.ensure_future(keep_telling())
        if self._options.config:
            reload_on_sighup(self._settings, self._read_again)
        self.status.tell(ReadyStatus(0, self._settings.host, port, port, os.getpid()))
        if self._options.ready_fd < 0:
            self._show(f"{'https' if self._settings.is_tls else 'http'}://{self._settings.host}:{port}")

    def _read_again(self) -> tuple[GatewaySettings, str]:
        """Settings and log level; a value that was taken out of the file goes back to its default."""
        file = read_config(self._options.config or "")
        level = self._given_level or file.gateway.get("log_level", LOG_LEVEL)
        return gateway_settings(file, self._given), level

    def _show(self, url: str) -> None:
        if self._options.as_json:
            show_json({"status": "serving", "url": url, "pid": os.getpid()})
        else:
            remark(f"the gateway serves on {url}; Ctrl-C stops it")
