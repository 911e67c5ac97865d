"""`headrace up`: a cluster on this machine in one command, in the foreground, with its data under one directory."""

import typer

from headrace.cli.config.file import ConfigFile
from headrace.cli.config.option import config_of, is_given
from headrace.cli.declared_options import takes
from headrace.cli.options import DEFAULT_BOOTSTRAP, UnusedBootstrap, parse_pairs
from headrace.cli.up.file import UpFile
from headrace.cli.up.options import UpOptions


@takes(UpOptions)
def up(context: typer.Context, options: UpOptions, bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP) -> int:
    """Start a cluster on this machine. Ctrl-C stops it cleanly; the data stays."""
    from headrace.cli.run.secret_settings import refuse_on_command_line
    from headrace.cli.up.assembly import Assembly

    given = parse_pairs(options.settings or (), "--set")
    for name in given:
        refuse_on_command_line(name)
    level = options.log_level if is_given(context, "log_level") else None
    file = UpFile(config_of(context), default_settings(options.brokers), given, level, _require_right)
    return Assembly(options, file).supervisor().run()


def _require_right(file: ConfigFile, settings: dict[str, str]) -> None:
    from importlib.util import find_spec

    from headrace.cli.run import preflight

    preflight.require_settings(settings)
    if file.gateway and find_spec("pydantic_settings"):
        from headrace.cli.run.gateway_config import gateway_settings

        gateway_settings(file, {})


def default_settings(brokers: int) -> dict[str, str]:
    """Three copies where there are three brokers, and then an acknowledgement needs two of them."""
    copies = min(3, brokers)
    return {"default.replication.factor": str(copies), "min.insync.replicas": "2" if copies == 3 else "1"}
