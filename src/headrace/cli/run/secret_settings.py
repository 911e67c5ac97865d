"""Broker settings that hold a secret, on their way to a broker: through its environment, which its user alone can read.

The command line of a process is everybody's to read. So `up` and the testing kit keep such settings out of it, and `--set`
takes none: they stand under [broker] in a file of `--config`, or in this variable, a JSON object.
"""

import json
import os
from collections.abc import Mapping
from typing import Final

from headrace.base.errors import UserError
from headrace.cli.failure import ExitCode, Failure
from headrace.cluster.broker_settings import broker_setting

VARIABLE: Final = "HEADRACE_SECRET_SETTINGS"


def is_secret(name: str) -> bool:
    declared = broker_setting(name)
    return declared is not None and declared.sensitive


def environment_with(settings: Mapping[str, str]) -> dict[str, str] | None:
    """The environment of a child with the secret ones of these settings; None where there are none: its parent's will do."""
    told = {name: value for name, value in settings.items() if is_secret(name)}
    return {**os.environ, VARIABLE: json.dumps(told)} if told else None


def secrets_from_environment() -> dict[str, str]:
    text = os.environ.get(VARIABLE)
    if not text:
        return {}
    try:
        told = json.loads(text)
        return {str(name): str(value) for name, value in told.items()}
    except (ValueError, AttributeError):
        raise UserError(f"{VARIABLE} is no JSON object", 'write {"ssl.key.password": "…"}') from None


def refuse_on_command_line(name: str) -> None:
    if is_secret(name):
        fix = f"put it under [broker] in a file of --config, readable by you alone, or into {VARIABLE}"
        raise Failure(
            f"--set {name}: others on this machine could read the secret in the process list", fix, ExitCode.USAGE
        )
