"""The file of HEADRACE_CONFIG: settings of `connect` that a program need not hold, a password first of all."""

import logging
from collections.abc import Mapping

from headrace.api.errors import ApiError
from headrace.api.options import ELSEWHERE
from headrace.base.errors import UserError
from headrace.client.properties import exposure, path_in_environment, read_properties
from headrace.client.property_names import VARIABLE

logger = logging.getLogger("headrace.api")


def settings_of_environment() -> dict[str, str]:
    """The file's settings by librdkafka's names; nothing if the variable is not set. ApiError if the file is wrong."""
    path = path_in_environment()
    if not path:
        return {}
    try:
        settings = read_properties(path)
    except UserError as error:
        raise ApiError(f"{VARIABLE}: {error.cause}", error.fix) from None
    if warning := exposure(path, settings):
        logger.warning("%(cause)s: %(fix)s", {"cause": warning.cause, "fix": warning.fix})
    return settings


def required_bootstrap(given: str | None, of_file: Mapping[str, str]) -> str:
    """The address that was given, or that of the file."""
    found = given if given is not None else of_file.get("bootstrap.servers")
    if found is None:
        hint = f'pass "127.0.0.1:9092", or set bootstrap.servers in a file that {VARIABLE} names'
        raise ApiError("connect() was given no address of a broker", hint)
    return found


def usable(of_file: Mapping[str, str]) -> dict[str, str]:
    """The settings of a file that have no place of their own in the API: a file for other clients may hold those too."""
    return {name: value for name, value in of_file.items() if name not in ELSEWHERE}
