"""`headrace gateway`: REST, push, metrics and the admin UI before a cluster, in the foreground."""

from typing import Annotated

import typer

from headrace.base.errors import UserError
from headrace.cli.config_option import ConfigOption, config_of
from headrace.cli.failure import ExitCode
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, parse_pairs


def gateway(
    context: typer.Context,
    config: ConfigOption = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)] = 8080,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of docs/rest.md; may be repeated."),
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
    ready_fd: Annotated[int, typer.Option(hidden=True)] = -1,
    parent_fd: Annotated[int, typer.Option(hidden=True)] = -1,
    as_json: AsJson = False,
) -> int:
    """Serve the cluster over HTTP. Ctrl-C stops it; it keeps nothing of its own."""
    import os

    from headrace.cli.gateway_config import gateway_settings
    from headrace.cli.logs import configure_logs
    from headrace.cli.output import remark, show_json
    from headrace.cli.status_line import Failed, Ready, StatusPipe
    from headrace.gateway.serve import serve

    configure_logs("json" if as_json else "text", log_level, None)
    status = StatusPipe(ready_fd)
    given = {"bootstrap": bootstrap, "host": host, "port": port, **parse_pairs(settings or (), "--set")}
    told = gateway_settings(config_of(context), given)

    def on_ready(chosen: int) -> None:
        status.tell(Ready(0, host, chosen, chosen, os.getpid()))
        if ready_fd >= 0:
            return
        if as_json:
            show_json({"status": "serving", "url": f"http://{host}:{chosen}", "pid": os.getpid()})
        else:
            remark(f"the gateway serves on http://{host}:{chosen}; Ctrl-C stops it")

    try:
        serve(told, on_ready, parent_fd)
    except UserError as error:
        status.tell(Failed(error.cause, error.fix))
        if ready_fd < 0:
            raise
        return ExitCode.FAILED
    return ExitCode.OK
