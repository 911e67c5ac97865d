"""`headrace up`: a cluster on this machine in one command, in the foreground, with its data under one directory."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from headrace.cli.config.file import BROKERS_MAX, PORT_MAX, ConfigFile
from headrace.cli.config.option import ConfigOption, config_of, is_given
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, UnusedBootstrap, parse_pairs
from headrace.cli.run.logs import STDOUT
from headrace.cli.run.serve_options import METRICS_PORT, ServeOptions
from headrace.cli.up.file import LOG_LEVEL, UpFile

LogLevel = Literal["debug", "info", "warning", "error"]

HOST = "127.0.0.1"


def up(
    context: typer.Context,
    config: ConfigOption = None,
    brokers: Annotated[int, typer.Option(help="How many broker processes.", min=1, max=BROKERS_MAX)] = 1,
    port: Annotated[
        int, typer.Option(help="Port of broker 1; the next brokers take the next ports.", min=1, max=PORT_MAX)
    ] = 9092,
    http_port: Annotated[
        int | None,
        typer.Option(
            help="Port of the gateway and the admin UI; 8080, or a free one if that is taken.", min=1, max=PORT_MAX
        ),
    ] = None,
    metrics_port: Annotated[int, typer.Option(help="Port of broker 1's /metrics.", min=1, max=PORT_MAX)] = METRICS_PORT,
    data: Annotated[Path, typer.Option(help="Where everything is kept.")] = Path("data"),
    secure: Annotated[
        bool,
        typer.Option(
            "--secure", help="TLS, logins and rules: DATA/secure has the administrator's settings of clients."
        ),
    ] = False,
    no_gateway: Annotated[bool, typer.Option("--no-gateway", help="Brokers only.")] = False,
    allow_insecure_network: Annotated[
        bool,
        typer.Option(
            "--allow-insecure-network",
            help="Let --set listeners=… reach beyond this machine also without TLS and logins: docs/security.md.",
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A broker setting by Kafka's name; may be repeated."),
    ] = None,
    end_stopped_after: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="End and restart a broker that was stopped (SIGSTOP) for so long; a lease and 1 s, or 0 for never.",
            min=0,
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start a broker again that died, after a pause; not one that was stopped.")
    ] = False,
    log_level: Annotated[LogLevel, typer.Option(help="What the brokers log on stderr.")] = LOG_LEVEL,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Log to DIR/broker-N.log and DIR/gateway.log, rotated at 100 MiB, or with - to stdout; else to stderr.",
        ),
    ] = None,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> int:
    """Start a cluster on this machine. Ctrl-C stops it cleanly; the data stays."""
    from headrace.cli.output import remark
    from headrace.cli.run import preflight
    from headrace.cli.run.secret_settings import refuse_on_command_line
    from headrace.cli.up.child import ServeChild
    from headrace.cli.up.gateway_child import GatewayChild
    from headrace.cli.up.restarts import Restarts
    from headrace.cli.up.secure import SecureUp, require_secure
    from headrace.cli.up.secure_welcome import watcher_of
    from headrace.cli.up.stopped_children import StoppedChildren
    from headrace.cli.up.supervisor import Supervisor
    from headrace.cluster.broker_config import BrokerConfig
    from headrace.stores.frozen_writer import is_stopped

    given = parse_pairs(settings or (), "--set")
    for name in given:
        refuse_on_command_line(name)
    level = log_level if is_given(context, "log_level") else None
    file = UpFile(config_of(context), default_settings(brokers), given, level, _require_right)
    chosen = file.options.settings
    preflight.require_data_root(data)
    for offset in range(brokers):
        preflight.require_port(HOST, port + offset)
    secured = SecureUp(data, HOST) if secure else None
    if secured:
        secured.prepare(",".join(f"{HOST}:{port + offset}" for offset in range(brokers)), chosen)
    else:
        require_secure(data)
    remarks = [*preflight.disk_remarks(data), *preflight.descriptor_remarks(), *_other_brokers(data, brokers)]

    def child(number: int) -> ServeChild:
        options = ServeOptions(
            id=number,
            host=HOST,
            port=port + number - 1,
            data=str(data),
            metrics_port=preflight.metrics_port(HOST, metrics_port + number - 1),
            allow_insecure_network=allow_insecure_network,
            settings=file.options.settings,
            log_format="json" if as_json else "text",
            log_level=file.options.log_level,
            log_file=log_file_in(log_dir, f"broker-{number}"),
        )
        return ServeChild(options, secured.settings_of(number, options.port) if secured else None)

    children = [child(number) for number in range(1, brokers + 1)]
    gateway = None
    if not no_gateway and preflight.has_gateway(remarks):
        serve_options = [each.options for each in children]
        http = preflight.http_port(HOST, http_port, remarks)
        gateway = GatewayChild(serve_options, HOST, http, data, as_json, config or "", log_file_in(log_dir, "gateway"))
        if secured:
            gateway.secure(secured.gateway_words())
    for line in remarks:
        remark(f"warning: {line}")
    if end_stopped_after is None:
        end_stopped_after = BrokerConfig(chosen).number("broker.session.timeout.ms") / 1000 + 1
    stopped = StoppedChildren(end_stopped_after, is_stopped)
    watcher = watcher_of(data, secured.folder if secured else None, as_json)
    changing = file if config else None
    return Supervisor(children, watcher, data, child, stopped, Restarts(restart), gateway, changing).run()


def _require_right(file: ConfigFile, settings: dict[str, str]) -> None:
    from importlib.util import find_spec

    from headrace.cli.run import preflight

    preflight.require_settings(settings)
    if file.gateway and find_spec("pydantic_settings"):
        from headrace.cli.run.gateway_config import gateway_settings

        gateway_settings(file, {})


def log_file_in(folder: Path | None, name: str) -> str:
    """The value for --log-file: a file of this name, stdout, or nothing for stderr."""
    if folder is None:
        return ""
    return STDOUT if str(folder) == STDOUT else str(folder / f"{name}.log")


def default_settings(brokers: int) -> dict[str, str]:
    """Three copies where there are three brokers, and then an acknowledgement needs two of them."""
    copies = min(3, brokers)
    return {"default.replication.factor": str(copies), "min.insync.replicas": "2" if copies == 3 else "1"}


def _other_brokers(data: Path, brokers: int) -> list[str]:
    from headrace.cli.run.preflight import broker_ids

    others = [number for number in broker_ids(data) if number > brokers]
    if not others:
        return []
    names = ", ".join(map(str, others))
    return [f"{data} also holds broker {names}: partitions kept only there stay offline (--brokers {others[-1]})"]
