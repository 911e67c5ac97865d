"""The parts of one `headrace up`, made of its options and its file: brokers, a gateway, and what watches them.

What cannot be (a data root of something else, a port that is taken) is told before anything starts.
"""

from pathlib import Path

from headrace.cli.output import remark
from headrace.cli.run import preflight
from headrace.cli.run.logs import STDOUT
from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.up.child import ServeChild
from headrace.cli.up.file import UpFile
from headrace.cli.up.gateway_child import GatewayChild
from headrace.cli.up.options import UpOptions
from headrace.cli.up.restarts import Restarts
from headrace.cli.up.secure import SecureUp, require_secure
from headrace.cli.up.secure_welcome import watcher_of
from headrace.cli.up.stopped_children import StoppedChildren
from headrace.cli.up.supervisor import Supervisor
from headrace.cluster.broker_config import BrokerConfig
from headrace.stores.frozen_writer import is_stopped

HOST = "127.0.0.1"


class Assembly:
    def __init__(self, options: UpOptions, file: UpFile) -> None:
        self._options, self._file = options, file
        self._chosen = file.options.settings
        preflight.require_data_root(options.data)
        ports = [options.port + offset for offset in range(options.brokers)]
        for port in ports:
            preflight.require_port(HOST, port)
        self._secured = SecureUp(options.data, HOST) if options.secure else None
        if self._secured:
            self._secured.prepare(",".join(f"{HOST}:{port}" for port in ports), self._chosen)
        else:
            require_secure(options.data)

    def supervisor(self) -> Supervisor:
        options = self._options
        remarks = [
            *preflight.disk_remarks(options.data),
            *preflight.descriptor_remarks(),
            *_other_brokers(options.data, options.brokers),
        ]
        children = [self._broker(number) for number in range(1, options.brokers + 1)]
        gateway = self._gateway(children, remarks)
        for line in remarks:
            remark(f"warning: {line}")
        return Supervisor(
            children,
            watcher_of(options.data, self._secured.folder if self._secured else None, options.as_json),
            options.data,
            self._broker,
            StoppedChildren(self._patience_s(), is_stopped),
            Restarts(options.restart),
            gateway,
            self._file if options.config else None,
        )

    def _broker(self, number: int) -> ServeChild:
        options = self._options
        serve_options = ServeOptions(
            id=number,
            host=HOST,
            port=options.port + number - 1,
            data=str(options.data),
            metrics_port=preflight.metrics_port(HOST, options.metrics_port + number - 1),
            allow_insecure_network=options.allow_insecure_network,
            settings=self._file.options.settings,
            log_format="json" if options.as_json else "text",
            log_level=self._file.options.log_level,
            log_file=log_file_in(options.log_dir, f"broker-{number}"),
        )
        return ServeChild(
            serve_options, self._secured.settings_of(number, serve_options.port) if self._secured else None
        )

    def _gateway(self, children: list[ServeChild], remarks: list[str]) -> GatewayChild | None:
        options = self._options
        if options.no_gateway or not preflight.has_gateway(remarks):
            return None
        gateway = GatewayChild(
            [each.options for each in children],
            HOST,
            preflight.http_port(HOST, options.http_port, remarks),
            options.data,
            options.as_json,
            options.config or "",
            log_file_in(options.log_dir, "gateway"),
        )
        if self._secured:
            gateway.secure(self._secured.gateway_words(self._file.chosen_of_gateway))
        return gateway

    def _patience_s(self) -> float:
        if self._options.end_stopped_after is not None:
            return self._options.end_stopped_after
        return BrokerConfig(self._chosen).number("broker.session.timeout.ms") / 1000 + 1


def log_file_in(folder: Path | None, name: str) -> str:
    """The value for --log-file: a file of this name, stdout, or nothing for stderr."""
    if folder is None:
        return ""
    return STDOUT if str(folder) == STDOUT else str(folder / f"{name}.log")


def _other_brokers(data: Path, brokers: int) -> list[str]:
    others = [number for number in preflight.broker_ids(data) if number > brokers]
    if not others:
        return []
    names = ", ".join(map(str, others))
    return [f"{data} also holds broker {names}: partitions kept only there stay offline (--brokers {others[-1]})"]
