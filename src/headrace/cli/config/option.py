"""`--config FILE` of `up` and `gateway`: the defaults of all options that the command line does not give."""

from typing import Annotated, Any

import typer

from headrace.cli.config.file import ConfigFile, read_config


def _use_as_defaults(context: typer.Context, path: str | None) -> str | None:
    if path:
        file = read_config(path)
        context.obj = file
        command = context.command.name or ""
        told: dict[str, Any] = dict(file.gateway) if command == "gateway" else file.of(command)
        context.default_map = {**(context.default_map or {}), **told}
    return path


ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A TOML file with settings and options (docs/config-file.md); the command line wins.",
        is_eager=True,
        callback=_use_as_defaults,
    ),
]


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the command line, or an environment variable of the option, says it; the file and the default do not count."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def config_of(context: typer.Context) -> ConfigFile:
    """The file that the command was given, or an empty one."""
    return context.obj if isinstance(context.obj, ConfigFile) else ConfigFile()
