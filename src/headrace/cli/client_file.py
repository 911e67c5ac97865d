"""`--client-config FILE`, or HEADRACE_CONFIG: who every command that asks brokers is to them, and whom it trusts.

The option is added to each command that has `--bootstrap` and uses it, or that asks a gateway (`--gateway`). What the file
says is of the whole process: one command talks to clusters as one user. `bootstrap.servers` of the file counts where
`--bootstrap` is not given.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headrace.base.errors import UserError
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import parse_pairs
from headrace.client.property_names import VARIABLE, is_secret, security_only

# The gateway serves others: it takes the option, and no identity from the environment of whoever starts it.
_NOT_OFFERED = ("gateway",)
_told: dict[str, str] = {}


def client_settings() -> Mapping[str, str]:
    """The settings of Kafka clients, by librdkafka's names, that this command was given; none without a file."""
    return _told


def security_settings() -> dict[str, str]:
    """The client settings that say who the command is, and whom it trusts."""
    return security_only(_told)


def pairs_of_settings(pairs: list[str] | None, option: str) -> dict[str, str]:
    """`NAME=VALUE …` of an option for client settings, with a warning for a secret, which the process list shows."""
    from headrace.cli.output import remark

    settings = parse_pairs(pairs or (), option)
    for name in filter(is_secret, settings):
        remark(f"warning: {option} {name} is seen by everybody who lists the processes of this machine; a file is not")
    return settings


def settings_of_file(path: str) -> dict[str, str]:
    """The settings of a file, with a warning if it shows its secrets to others."""
    from headrace.cli.output import remark
    from headrace.client.properties import exposure, read_properties

    try:
        settings = read_properties(path)
    except UserError as error:
        raise Failure(error.cause, error.fix, ExitCode.USAGE) from None
    if warning := exposure(path, settings):
        remark(f"warning: {warning.cause}: {warning.fix}")
    return settings


def offer_client_file(group: TyperGroup) -> None:
    """Gives the option to every command below that asks brokers, or a gateway."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            offer_client_file(command)
        elif name not in _NOT_OFFERED and _logs_in(command):
            command.params.append(_option())


def _logs_in(command: Any) -> bool:
    options = [
        name for parameter in command.params if not getattr(parameter, "hidden", False) for name in parameter.opts
    ]
    return "--bootstrap" in options or "--gateway" in options


def _option() -> Any:
    """The option as typer makes it of a command's parameter."""
    holder = typer.Typer(add_completion=False)
    holder.command()(_command_with_option)
    (option,) = typer.main.get_command(holder).params
    return option


def _use(context: typer.Context, path: str | None) -> None:
    """Called for every command that has the option, also without a file: what an earlier one was told is forgotten."""
    _told.clear()
    if path and not context.resilient_parsing:
        _told.update(settings_of_file(path))
    if bootstrap := _told.get("bootstrap.servers"):
        context.default_map = {**(context.default_map or {}), "bootstrap": bootstrap}


def _command_with_option(
    client_config: Annotated[
        str | None,
        typer.Option(
            "--client-config",
            metavar="FILE",
            envvar=VARIABLE,
            help="Settings of Kafka clients, by librdkafka's names, as security.protocol=SASL_SSL in each line.",
            is_eager=True,
            expose_value=False,
            callback=_use,
        ),
    ] = None,
) -> None:
    """Never run: typer reads its parameter."""
