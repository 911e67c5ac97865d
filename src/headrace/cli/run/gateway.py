"""`headrace gateway`: REST, push, metrics and the admin UI before a cluster, in the foreground."""

from typing import Any

import typer

from headrace.base.errors import UserError
from headrace.cli.config.option import config_of, is_given
from headrace.cli.declared_options import takes
from headrace.cli.failure import ExitCode
from headrace.cli.options import parse_pairs
from headrace.cli.run.gateway_options import GatewayOptions

_SETTINGS = ("bootstrap", "host", "port", "service_config")


@takes(GatewayOptions)
def gateway(context: typer.Context, options: GatewayOptions) -> int:
    """Serve the cluster over HTTP. Ctrl-C stops it; it keeps nothing of its own."""
    from headrace.cli.run.gateway_config import gateway_settings
    from headrace.cli.run.gateway_serving import GatewayServing
    from headrace.cli.run.logs import LogOptions, configure_logs
    from headrace.cli.run.open_network import require_loopback
    from headrace.cli.run.status_line import Failed
    from headrace.gateway.serve import serve

    log_format = "json" if options.as_json else options.log_format
    logs = LogOptions(log_format, options.log_level, options.log_file, options.log_file_bytes, options.log_files)
    configure_logs(logs, None)
    given = _given(context, options)
    told = gateway_settings(config_of(context), given)
    if not (told.allow_insecure_network or (told.callers_log_in and told.is_tls)):
        require_loopback("the gateway", told.host, told.port)
    level = options.log_level if is_given(context, "log_level") else None
    serving = GatewayServing(options, told, given, level)
    try:
        serve(told, serving.on_ready, options.parent_fd)
    except UserError as error:
        serving.status.tell(Failed(error.cause, error.fix))
        if options.ready_fd < 0:
            raise
        return ExitCode.FAILED
    return ExitCode.OK


def _given(context: typer.Context, options: GatewayOptions) -> dict[str, Any]:
    """The settings of the command line, and those that a file of client settings stands for."""
    from headrace.cli.run.gateway_config import of_client_file

    given = of_client_file(options.client_config) if options.client_config else {}
    given |= {name: getattr(options, name) for name in _SETTINGS if is_given(context, name)}
    given |= parse_pairs(options.settings or (), "--set")
    if options.allow_insecure_network:
        given["allow_insecure_network"] = True
    return given
