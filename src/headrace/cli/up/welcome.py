"""The screen of `up` while it runs: where to connect and lines to copy, or the same as JSON lines."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from headrace import __version__
from headrace.base.errors import UserError
from headrace.cli.failure import show_failure
from headrace.cli.options import DEFAULT_BOOTSTRAP
from headrace.cli.output import console, count_of, remark, show_json
from headrace.cli.up.child import Child, ServeChild
from headrace.cli.up.file import ReadAgain
from headrace.cli.up.gateway_child import GatewayChild


class PanelWatcher:
    def __init__(self, data: Path) -> None:
        self.data = data

    def on_serving(self, children: Sequence[ServeChild], gateway: GatewayChild | None) -> None:
        from rich.markup import escape

        bootstrap = bootstrap_of(children)
        screen = console()
        what = f"{count_of(len(children), 'broker')}, data in {escape(str(self.data))}"
        screen.print(f"[bold green]Headrace {__version__} is up[/]: {what}\n")
        screen.print(f"  connect to  [bold]{bootstrap}[/]")
        if gateway:
            screen.print(f"  in browser  [bold]{gateway.url}[/], in a moment")
        screen.print(f"  metrics     {' '.join(metrics_urls(children))}\n")
        screen.print("  try it in another terminal:")
        for line in lines_to_try(bootstrap, gateway.url if gateway else ""):
            screen.print(f"    [cyan]{escape(line)}[/]", soft_wrap=True)
        screen.print("\n  Ctrl-C stops it; the data stays.")
        sys.stdout.flush()

    def on_gateway(self, gateway: GatewayChild) -> None:
        remark(f"the gateway serves on {gateway.url}")

    def on_start(self, child: ServeChild) -> None:
        remark(f"broker {child.options.id} serves on {child.options.host}:{child.options.port}")

    def on_death(self, child: Child, cause: UserError, left: int, restart_s: float | None) -> None:
        if restart_s is not None:
            show_failure(cause.cause, f"it is started again in {restart_s:g} s (--restart)", as_json=False)
            return
        if isinstance(child, GatewayChild):
            fix = f"`headrace gateway --bootstrap {child.bootstrap} --port {child.port}` starts another"
            show_failure(cause.cause, fix, as_json=False)
            return
        if not isinstance(child, ServeChild):
            show_failure(cause.cause, cause.fix, as_json=False)
            return
        where = "" if self.data == Path("data") else f" --data {shlex.quote(str(self.data))}"
        fix = f"`headrace start {child.options.id}{where}` starts it again" + ("" if left else ", Ctrl-C ends it all")
        show_failure(f"{cause.cause}; {count_of(left, 'broker') if left else 'no broker'} left", fix, as_json=False)

    def on_stopped(self, child: ServeChild, seconds: float) -> None:
        remark(f"{child.name} {stood_still(seconds)}")

    def on_read_again(self, read: ReadAgain) -> None:
        remark(f"the file was read again; brokers were told: {', '.join(read.changed) or 'nothing new'}")
        if read.later:
            remark(f"these options wait for the next start of `headrace up`: {', '.join(read.later)}")

    def on_wrong_file(self, error: UserError) -> None:
        show_failure(f"nothing was changed: {error.cause}", error.fix, as_json=False)

    def on_stopping(self) -> None:
        remark("stopping; Ctrl-C again stops at once")


class JsonWatcher:
    """`client_config` is the administrator's file, where there is one."""

    def __init__(self, client_config: Path | None = None) -> None:
        self._client_config = client_config

    def on_serving(self, children: Sequence[ServeChild], gateway: GatewayChild | None) -> None:
        brokers = [
            {**child.ready._asdict(), "data": str(Path(child.options.broker_data).resolve())}
            for child in children
            if child.ready
        ]
        http = {"url": gateway.url, "pid": gateway.pid} if gateway else None
        told = {"status": "serving", "bootstrap": bootstrap_of(children), "brokers": brokers, "gateway": http}
        if self._client_config:
            told["client_config"] = str(self._client_config)
        show_json(told)
        sys.stdout.flush()

    def on_gateway(self, gateway: GatewayChild) -> None:
        show_json({"status": "gateway", "url": gateway.url, "pid": gateway.pid})
        sys.stdout.flush()

    def on_start(self, child: ServeChild) -> None:
        if child.ready:
            show_json({"status": "started", "broker": child.ready._asdict()})
            sys.stdout.flush()

    def on_death(self, child: Child, cause: UserError, left: int, restart_s: float | None) -> None:
        fix = cause.fix if restart_s is None else f"it is started again in {restart_s:g} s (--restart)"
        show_failure(cause.cause, fix, as_json=True)

    def on_stopped(self, child: ServeChild, seconds: float) -> None:
        show_json({"status": "stopped", "broker": child.options.id, "cause": f"{child.name} {stood_still(seconds)}"})
        sys.stdout.flush()

    def on_read_again(self, read: ReadAgain) -> None:
        show_json({"status": "read again", "changed": read.changed, "later": read.later})
        sys.stdout.flush()

    def on_wrong_file(self, error: UserError) -> None:
        show_failure(f"nothing was changed: {error.cause}", error.fix, as_json=True)

    def on_stopping(self) -> None:
        pass


def stood_still(seconds: float) -> str:
    return (
        f"was stopped for {seconds:g} s, longer than its lease: ended and started again, so that no client waits for it "
        "(--end-stopped-after 0 leaves it)"
    )


def bootstrap_of(children: Sequence[ServeChild]) -> str:
    return ",".join(f"{child.ready.host}:{child.ready.port}" for child in children if child.ready)


def metrics_urls(children: Sequence[ServeChild]) -> list[str]:
    return [f"http://{child.ready.host}:{child.ready.metrics_port}/metrics" for child in children if child.ready]


def command_name() -> str:
    """The word that runs headrace again."""
    return "headrace" if shutil.which("headrace") else shlex.quote(sys.argv[0])


def lines_to_try(bootstrap: str, url: str) -> list[str]:
    command = command_name()
    where = "" if bootstrap.split(",")[0] == DEFAULT_BOOTSTRAP else f" --bootstrap {bootstrap}"
    python = f"import headrace; print(headrace.connect('{bootstrap}').produce('demo', 'hello'))"
    curl = f'curl {url}/api/v1/topics/demo/messages --json \'{{"value": "hello"}}\''
    return [
        *([curl] if url else []),
        f"echo hello | {command} produce demo{where}",
        f"{command} consume demo --follow{where}",
        *([f"kcat -b {bootstrap} -t demo -C -e"] if shutil.which("kcat") else []),
        *([f'{shlex.quote(sys.executable)} -c "{python}"'] if find_spec("confluent_kafka") else []),
    ]
