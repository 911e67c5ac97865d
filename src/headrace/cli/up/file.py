"""The options of `headrace up` from its command line and its file, at the start and when SIGHUP says that the file has
changed.

The command line wins, and a value that was taken out of the file goes back to its default.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from headrace.cli.config.file import ConfigFile, read_config
from headrace.cli.run.new_options import NewOptions

LOG_LEVEL: Final = "warning"


class ReadAgain(NamedTuple):
    """New options for brokers, the names of those that differ, and those options of `up` that wait for its next start."""

    options: NewOptions
    changed: list[str]
    later: list[str]


class UpFile:
    """`given_level` is that of the command line, if it has one; `check` raises UserError for settings that cannot be."""

    def __init__(
        self,
        file: ConfigFile,
        defaults: Mapping[str, str],
        given: Mapping[str, str],
        given_level: str | None,
        check: Callable[[ConfigFile, dict[str, str]], None],
    ) -> None:
        self._file = file
        self._defaults, self._given, self._given_level = defaults, given, given_level
        self._check = check
        self.options = self._options(file)

    def _options(self, file: ConfigFile) -> NewOptions:
        settings = {**self._defaults, **file.broker, **self._given}
        self._check(file, settings)
        return NewOptions(settings, self._given_level or file.of("up").get("log_level", LOG_LEVEL))

    @property
    def chosen_of_gateway(self) -> set[str]:
        """Settings of the gateway that the file or the environment names."""
        prefix = "HEADRACE_GATEWAY_"
        return {
            *self._file.gateway,
            *(name.removeprefix(prefix).lower() for name in os.environ if name.startswith(prefix)),
        }

    def read_again(self) -> ReadAgain:
        """Raises UserError, and has changed nothing, if the file is wrong."""
        file = read_config(self._file.path)
        options = self._options(file)
        before, after = self._file.of("up"), file.of("up")
        later = [name.replace("_", "-") for name in _different(before, after) if name != "log_level"]
        changed = _different(self.options.settings, options.settings)
        if options.log_level != self.options.log_level:
            changed.append("log-level")
        # Those that wait are compared with what runs, which is the first file.
        self.options = options
        return ReadAgain(options, changed, later)


def _different(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
