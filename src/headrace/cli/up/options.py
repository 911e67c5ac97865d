"""The options of `headrace up`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from headrace.cli.config.file import BROKERS_MAX, PORT_MAX
from headrace.cli.config.option import ConfigOption
from headrace.cli.options import AsJson
from headrace.cli.run.serve_options import METRICS_PORT
from headrace.cli.up.file import LOG_LEVEL

LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True)
class UpOptions:
    config: ConfigOption = None
    brokers: Annotated[int, typer.Option(help="How many broker processes.", min=1, max=BROKERS_MAX)] = 1
    port: Annotated[
        int, typer.Option(help="Port of broker 1; the next brokers take the next ports.", min=1, max=PORT_MAX)
    ] = 9092
    http_port: Annotated[
        int | None,
        typer.Option(
            help="Port of the gateway and the admin UI; 8080, or a free one if that is taken.", min=1, max=PORT_MAX
        ),
    ] = None
    metrics_port: Annotated[int, typer.Option(help="Port of broker 1's /metrics.", min=1, max=PORT_MAX)] = METRICS_PORT
    data: Annotated[Path, typer.Option(help="Where everything is kept.")] = Path("data")
    secure: Annotated[
        bool,
        typer.Option(
            "--secure", help="TLS, logins and rules: DATA/secure has the administrator's settings of clients."
        ),
    ] = False
    no_gateway: Annotated[bool, typer.Option("--no-gateway", help="Brokers only.")] = False
    allow_insecure_network: Annotated[
        bool,
        typer.Option(
            "--allow-insecure-network",
            help="Let --set listeners=… reach beyond this machine also without TLS and logins: docs/security.md.",
        ),
    ] = False
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A broker setting by Kafka's name; may be repeated."),
    ] = None
    end_stopped_after: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="End and restart a broker that was stopped (SIGSTOP) for so long; a lease and 1 s, or 0 for never.",
            min=0,
        ),
    ] = None
    restart: Annotated[
        bool, typer.Option("--restart", help="Start a broker again that died, after a pause; not one that was stopped.")
    ] = False
    log_level: Annotated[LogLevel, typer.Option(help="What the brokers log on stderr.")] = LOG_LEVEL
    log_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Log to DIR/broker-N.log and DIR/gateway.log, rotated at 100 MiB, or with - to stdout; else to stderr.",
        ),
    ] = None
    as_json: AsJson = False
