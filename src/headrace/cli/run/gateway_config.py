"""The settings of a gateway: its command line, then the environment, then the section [gateway] of a file."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from headrace.cli.client_file import settings_of_file
from headrace.cli.config.file import LOG_OPTIONS, ConfigFile, nearest
from headrace.cli.failure import ExitCode, Failure
from headrace.client.property_names import is_secret
from headrace.gateway.settings import GatewaySettings

# Options of the command, and no settings.
_OPTIONS = {name.replace("-", "_"): kind for name, kind in LOG_OPTIONS.items()}


def gateway_settings(file: ConfigFile, given: Mapping[str, Any]) -> GatewaySettings:
    told = {name: value for name, value in file.gateway.items() if name not in _OPTIONS and not _in_environment(name)}
    _check_names(file)
    try:
        return GatewaySettings(**{**told, **given})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        cause = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        if name in told and name not in given:
            raise file.refused("gateway", _written(file, name), cause, "docs/rest.md lists the settings") from None
        hint = nearest(name, GatewaySettings.model_fields, "docs/rest.md lists the settings")
        fix = hint if first["type"] == "extra_forbidden" else "docs/rest.md lists the settings"
        raise Failure(cause, fix, ExitCode.USAGE) from None


def of_client_file(path: str) -> dict[str, Any]:
    """The settings of a gateway that a file of client settings stands for."""
    settings = settings_of_file(path)
    bootstrap = settings.pop("bootstrap.servers", "")
    return {"kafka": settings, **({"bootstrap": bootstrap} if bootstrap else {})}


def gateway_rows(file: ConfigFile, every: bool) -> Iterator[tuple[str, Any, str]]:
    """Name, value and source of what the file sets, or of every setting."""
    settings = gateway_settings(file, {})
    for name in GatewaySettings.model_fields:
        if name in file.gateway:
            written = _written(file, name)
            source = f"HEADRACE_GATEWAY_{name.upper()}" if _in_environment(name) else file.place("gateway", written)
            yield written, _shown(getattr(settings, name)), source
        elif every:
            yield name, getattr(settings, name), "default"
    for name in filter(file.gateway.__contains__, _OPTIONS):
        written = _written(file, name)
        yield written, file.gateway[name], file.place("gateway", written)


def _shown(value: Any) -> Any:
    """The value without passwords of Kafka's clients."""
    if not isinstance(value, Mapping):
        return value
    return {name: "***" if is_secret(name) else each for name, each in value.items()}


def _check_names(file: ConfigFile) -> None:
    for name, kind in _OPTIONS.items():
        if name in file.gateway and not kind.takes(value := file.gateway[name]):
            line = _written(file, name)
            raise file.refused("gateway", line, f"{line} cannot be {value!r}", f"it is {kind}")
    known = {**GatewaySettings.model_fields, **_OPTIONS}
    for name in file.gateway:
        if name not in known:
            hint = nearest(name, known, "docs/rest.md lists the settings")
            raise file.refused("gateway", _written(file, name), f"[gateway] has no setting {name}", hint)


def _written(file: ConfigFile, name: str) -> str:
    """The name in the file's own spelling: with underscores, or with dashes."""
    return name if ("gateway", name) in file.lines else name.replace("_", "-")


def _in_environment(name: str) -> bool:
    return f"HEADRACE_GATEWAY_{name.upper()}" in os.environ
