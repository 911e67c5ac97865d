"""The screen of `headrace up --secure`: three lines that every client needs, and the next two commands."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from headrace import __version__
from headrace.cli.output import console, count_of
from headrace.cli.up.child import ServeChild
from headrace.cli.up.gateway_child import GatewayChild
from headrace.cli.up.secure_folder import SecureFolder
from headrace.cli.up.supervisor import UpWatcher
from headrace.cli.up.welcome import JsonWatcher, PanelWatcher, bootstrap_of, command_name, metrics_urls


def watcher_of(data: Path, folder: SecureFolder | None, as_json: bool) -> UpWatcher:
    """The screen of `up`, secure where there is a folder, for people or for programs."""
    if as_json:
        return JsonWatcher(folder.admin if folder else None)
    return SecurePanelWatcher(data, folder) if folder else PanelWatcher(data)


class SecurePanelWatcher(PanelWatcher):
    def __init__(self, data: Path, folder: SecureFolder) -> None:
        super().__init__(data)
        self._folder = folder

    def on_serving(self, children: Sequence[ServeChild], gateway: GatewayChild | None) -> None:
        from rich.markup import escape

        screen = console()
        what = f"{count_of(len(children), 'broker')}, data in {escape(str(self.data))}"
        screen.print(f"[bold green]Headrace {__version__} is up[/]: {what}, with TLS, logins and rules\n")
        screen.print(f"  connect to  [bold]{bootstrap_of(children)}[/]")
        screen.print(f"  metrics     {' '.join(metrics_urls(children))}")
        if gateway:
            screen.print(
                f"  in browser  [bold]{gateway.url}[/], in a moment; its certificate is by {self._folder.authority.name}"
            )
        screen.print()
        screen.print("  every client needs, beside its user and password:")
        for name, value in self._folder.client_lines().items():
            screen.print(f"    [cyan]{escape(f'{name}={value}')}[/]", soft_wrap=True)
        screen.print("\n  in another terminal, as the administrator:")
        for line in _lines_to_try(self._folder):
            screen.print(f"    [cyan]{escape(line)}[/]", soft_wrap=True)
        screen.print("\n  Ctrl-C stops it; the data stays.")
        sys.stdout.flush()


def _lines_to_try(folder: SecureFolder) -> list[str]:
    command = command_name()
    return [
        f"export HEADRACE_CONFIG={shlex.quote(str(folder.admin))}",
        f"{command} topic create demo",
        f"{command} user add alice",
        f"{command} acl allow --user alice --read --write --topic demo",
    ]
