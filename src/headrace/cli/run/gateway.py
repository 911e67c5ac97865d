"""`headrace gateway`: REST, push, metrics and the admin UI before a cluster, in the foreground."""

from typing import Annotated, Final, Literal

import typer

from headrace.base.errors import UserError
from headrace.cli.config.option import ConfigOption, config_of, is_given
from headrace.cli.failure import ExitCode
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, parse_pairs
from headrace.cli.run.log_file import FILE_BYTES, FILES_KEPT

LOG_LEVEL: Final = "warning"


def gateway(
    context: typer.Context,
    config: ConfigOption = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client_config: Annotated[
        str,
        typer.Option("--client-config", metavar="FILE", help="The gateway's own settings as a client of the brokers."),
    ] = "",
    service_config: Annotated[
        str,
        typer.Option(
            "--service-config", metavar="FILE", help="A login of the gateway's own, for what no caller asks for."
        ),
    ] = "",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8080,
    allow_insecure_network: Annotated[
        bool,
        typer.Option(
            "--allow-insecure-network", help="Listen on more than this machine, though callers need no login."
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of docs/rest.md; may be repeated."),
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = LOG_LEVEL,
    log_format: Annotated[Literal["text", "json"], typer.Option(help="Log lines for people or for programs.")] = "text",
    log_file: Annotated[
        str, typer.Option(metavar="FILE", help="Log to this file, or with - to stdout; stderr if not given.")
    ] = "",
    log_file_bytes: Annotated[
        int, typer.Option(help="Size at which the log file is rotated; 0 leaves that to others, as logrotate.")
    ] = FILE_BYTES,
    log_files: Annotated[int, typer.Option(help="Rotated log files that are kept.")] = FILES_KEPT,
    ready_fd: Annotated[int, typer.Option(hidden=True)] = -1,
    parent_fd: Annotated[int, typer.Option(hidden=True)] = -1,
    as_json: AsJson = False,
) -> int:
    """Serve the cluster over HTTP. Ctrl-C stops it; it keeps nothing of its own."""
    import asyncio
    import os

    from headrace.cli.config.file import read_config
    from headrace.cli.output import remark, show_json
    from headrace.cli.run.gateway_config import gateway_settings, of_client_file
    from headrace.cli.run.gateway_reload import reload_on_sighup
    from headrace.cli.run.logs import LogOptions, configure_logs
    from headrace.cli.run.open_network import require_loopback
    from headrace.cli.run.service_notice import READY, keep_telling, tell_service_manager
    from headrace.cli.run.status_line import Failed, ReadyStatus, StatusPipe
    from headrace.gateway.serve import serve
    from headrace.gateway.settings import GatewaySettings

    logs = LogOptions("json" if as_json else log_format, log_level, log_file, log_file_bytes, log_files)
    configure_logs(logs, None)
    status = StatusPipe(ready_fd)
    options = {"bootstrap": bootstrap, "host": host, "port": port, "service_config": service_config}
    given = of_client_file(client_config) if client_config else {}
    given |= {name: value for name, value in options.items() if is_given(context, name)}
    given |= parse_pairs(settings or (), "--set")
    given_level = log_level if is_given(context, "log_level") else None
    if allow_insecure_network:
        given["allow_insecure_network"] = True
    told = gateway_settings(config_of(context), given)
    if not (told.allow_insecure_network or (told.callers_log_in and told.is_tls)):
        require_loopback("the gateway", told.host, told.port)

    def read_again() -> tuple[GatewaySettings, str]:
        """The command line wins again, and what was taken out of the file goes back to its default."""
        file = read_config(config or "")
        return gateway_settings(file, given), given_level or file.gateway.get("log_level", LOG_LEVEL)

    beating: list[asyncio.Task[None]] = []

    def on_ready(chosen: int) -> None:
        tell_service_manager(READY)
        # As long as the loop turns; without a watchdog it ends at once.
        beating.append(asyncio.ensure_future(keep_telling()))
        if config:
            reload_on_sighup(told, read_again)
        status.tell(ReadyStatus(0, told.host, chosen, chosen, os.getpid()))
        if ready_fd >= 0:
            return
        scheme = "https" if told.is_tls else "http"
        if as_json:
            show_json({"status": "serving", "url": f"{scheme}://{told.host}:{chosen}", "pid": os.getpid()})
        else:
            remark(f"the gateway serves on {scheme}://{told.host}:{chosen}; Ctrl-C stops it")

    try:
        serve(told, on_ready, parent_fd)
    except UserError as error:
        status.tell(Failed(error.cause, error.fix))
        if ready_fd < 0:
            raise
        return ExitCode.FAILED
    return ExitCode.OK
