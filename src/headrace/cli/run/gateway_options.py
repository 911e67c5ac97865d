"""The options of `headrace gateway`."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

import typer

from headrace.cli.config.option import ConfigOption
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap
from headrace.cli.run.log_file import FILES_KEPT, LOG_FILE_BYTES

LOG_LEVEL: Final = "warning"


@dataclass(frozen=True)
class GatewayOptions:
    config: ConfigOption = None
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
    client_config: Annotated[
        str,
        typer.Option("--client-config", metavar="FILE", help="The gateway's own settings as a client of the brokers."),
    ] = ""
    service_config: Annotated[
        str,
        typer.Option(
            "--service-config", metavar="FILE", help="A login of the gateway's own, for what no caller asks for."
        ),
    ] = ""
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8080
    allow_insecure_network: Annotated[
        bool,
        typer.Option(
            "--allow-insecure-network", help="Listen on more than this machine, though callers need no login."
        ),
    ] = False
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of docs/rest.md; may be repeated."),
    ] = None
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = LOG_LEVEL
    log_format: Annotated[Literal["text", "json"], typer.Option(help="Log lines for people or for programs.")] = "text"
    log_file: Annotated[
        str, typer.Option(metavar="FILE", help="Log to this file, or with - to stdout; stderr if not given.")
    ] = ""
    log_file_bytes: Annotated[
        int, typer.Option(help="Size at which the log file is rotated; 0 leaves that to others, as logrotate.")
    ] = LOG_FILE_BYTES
    log_files: Annotated[int, typer.Option(help="Rotated log files that are kept.")] = FILES_KEPT
    ready_fd: Annotated[int, typer.Option(hidden=True)] = -1
    parent_fd: Annotated[int, typer.Option(hidden=True)] = -1
    as_json: AsJson = False
