"""The options of `headrace serve` in two spellings: the command line and this value.

`parse_arguments(options.to_arguments()) == options`, but for settings with a secret (`secret_settings`). So whoever starts a
broker (`up`, headrace.testing) builds the value and never a command line by hand. `data` is the root: the broker's own
directory is `broker-ID` below it.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headrace.base.errors import UserError
from headrace.cli.config.file import OPTIONS, ConfigFile, read_config
from headrace.cli.run.log_file import FILES_KEPT, LOG_FILE_BYTES
from headrace.cli.run.logs import LogOptions
from headrace.cli.run.secret_settings import is_secret, refuse_on_command_line, secrets_from_environment

METRICS_PORT = 9464


@dataclass(frozen=True)
class ServeOptions:
    id: int = 1
    host: str = "127.0.0.1"
    port: int = 9092
    advertised_host: str = ""
    data: str = "data"
    store: str = ""
    metrics_port: int = METRICS_PORT
    rack: str = ""
    allow_insecure_network: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    log_format: str = "text"
    log_level: str = "info"
    log_file: str = ""
    log_file_bytes: int = LOG_FILE_BYTES
    log_files: int = FILES_KEPT
    config: str = ""
    ready_fd: int = -1
    parent_fd: int = -1

    @property
    def broker_data(self) -> str:
        return str(Path(self.data) / f"broker-{self.id}")

    @property
    def store_path(self) -> str:
        return self.store or str(Path(self.data) / "meta" / "metadata.sqlite")

    @property
    def logs(self) -> LogOptions:
        return LogOptions(self.log_format, self.log_level, self.log_file, self.log_file_bytes, self.log_files)

    def to_arguments(self) -> list[str]:
        words = []
        for name, default in vars(ServeOptions()).items():
            value = getattr(self, name)
            if name != "settings" and value != default:
                option = f"--{name.replace('_', '-')}"
                words.append(option if value is True else f"{option}={value}")
        return words + [f"--set={name}={value}" for name, value in self.settings.items() if not is_secret(name)]


def parse_arguments(arguments: Sequence[str]) -> ServeOptions:
    """The command line wins over the file that its --config names."""
    parser = _parser()
    file = _config_file(arguments)
    parser.set_defaults(**file.of("serve"))
    parsed = vars(parser.parse_args(arguments))
    pairs = parsed.pop("set")
    if parsed.pop("json"):
        parsed["log_format"] = "json"
    given = dict(map(_pair, pairs))
    return ServeOptions(**parsed, settings={**file.broker, **secrets_from_environment(), **given})


def _config_file(arguments: Sequence[str]) -> ConfigFile:
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--config", default="")
    path = first.parse_known_args(arguments)[0].config
    return read_config(path) if path else ConfigFile()


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise UserError(f"--set {text}: this is not NAME=VALUE", "write for example --set num.partitions=4")
    refuse_on_command_line(name.strip())
    return name.strip(), value


def _id(text: str) -> int:
    kind = OPTIONS["serve"]["id"]
    if not text.isdecimal() or not kind.takes(int(text)):
        # To clients −1 means that there is no broker.
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a broker: {kind}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    plain = ServeOptions()
    parser = argparse.ArgumentParser(
        "headrace serve",
        description="Run one broker in the foreground. SIGTERM or Ctrl-C stops it cleanly, a second one at once.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--id", type=_id, default=plain.id, help="broker id (%(default)s)")
    add("--host", default=plain.host, help="address to listen on (%(default)s)")
    add("--port", type=int, default=plain.port, help="port to listen on, 0 takes a free one (%(default)s)")
    add("--advertised-host", default="", help="the host that clients are told to connect to; --host if not given")
    add("--data", default=plain.data, help="data root; this broker keeps its files in DATA/broker-ID (%(default)s)")
    add(
        "--store",
        default="",
        help="where the metadata is: a file for the brokers of one host (DATA/meta/metadata.sqlite if not given), "
        "or etcd://HOST:PORT,…/PREFIX for those of many",
    )
    add(
        "--metrics-port",
        type=int,
        default=plain.metrics_port,
        help="port of /metrics, 0 takes a free one (%(default)s)",
    )
    add("--rack", default="", help="where this broker stands; replicas are spread over racks")
    add(
        "--allow-insecure-network",
        action="store_true",
        help="listen on more than this machine also without TLS and logins: docs/security.md",
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a broker setting by Kafka's name; may be repeated",
    )
    add(
        "--log-format",
        choices=("text", "json"),
        default=plain.log_format,
        help="log lines for people or for programs (%(default)s)",
    )
    add(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default=plain.log_level,
        help="least level to log (%(default)s)",
    )
    add("--log-file", default="", metavar="FILE", help="log to this file, or with - to stdout; stderr if not given")
    add(
        "--log-file-bytes",
        type=int,
        default=plain.log_file_bytes,
        help="size at which the log file is rotated; 0 leaves that to others, as logrotate (%(default)s)",
    )
    add("--log-files", type=int, default=plain.log_files, help="rotated log files that are kept (%(default)s)")
    add(
        "--config",
        default="",
        metavar="FILE",
        help="a TOML file with settings and options (docs/config-file.md); the command line wins; SIGHUP reads it again",
    )
    add("--json", action="store_true", help="as --log-format json, errors too")
    add("--bootstrap", default=argparse.SUPPRESS, action=_Ignored, help=argparse.SUPPRESS)
    add(
        "--ready-fd", type=int, default=-1, help="write a line of JSON there when serving, or why not (for supervisors)"
    )
    add("--parent-fd", type=int, default=-1, help="stop when this pipe closes, since then the parent is gone")
    return parser


class _Ignored(argparse.Action):
    """Every command takes --bootstrap; this one asks no broker."""

    def __call__(self, *_: object) -> None:
        pass
