"""`headrace config …`: a configuration file, looked at before anything is started with it."""

from collections.abc import Iterator
from importlib.util import find_spec
from inspect import signature
from typing import Annotated, Any

import typer

from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, UnusedBootstrap

app = typer.Typer(
    help="Look at a configuration file; see and change the settings of running brokers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[str, typer.Argument(metavar="FILE", show_default=False, help="A TOML file: docs/config-file.md.")]


@app.command()
def check(file: File, bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Say whether a file is right; exit code 2 and the line if it is not."""
    from headrace.cli.output import count_of, show_json

    rows = list(_rows(file, every=False))
    if as_json:
        show_json({"file": file, "settings": len(rows)})
    else:
        print(f"{file} is right: {count_of(len(rows), 'setting')}")


@app.command()
def show(
    file: File,
    every: Annotated[bool, typer.Option("--all", help="Show settings that stand at their default too.")] = False,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show what a file sets, or with --all every setting there is, and where each comes from."""
    from headrace.cli.output import show_json, show_rows

    rows = list(_rows(file, every))
    if as_json:
        show_json(rows)
        return
    columns = {"section": "SECTION", "name": "NAME", "value": "VALUE", "source": "SOURCE"}
    show_rows(rows, columns, empty=f"{file} sets nothing; --all shows the defaults")


def _rows(path: str, every: bool) -> Iterator[dict[str, Any]]:
    from headrace.base.extras import installation_of
    from headrace.cli.config.file import OPTIONS, read_config
    from headrace.cli.output import remark
    from headrace.cluster.broker_config import BrokerConfig, Source

    file = read_config(path)
    for name, each in sorted(BrokerConfig(file.broker).effective().items()):
        is_set = each.source is Source.STATIC_BROKER
        if is_set or every:
            value = "***" if each.setting.sensitive and is_set else each.text
            yield _row("broker", name, value, file.place("broker", name) if is_set else "default")
    for command, known in OPTIONS.items():
        told = {name.replace("_", "-"): value for name, value in file.of(command).items()}
        for name in known:
            if name in told:
                written = name if (command, name) in file.lines else name.replace("-", "_")
                yield _row(command, written, told[name], file.place(command, written))
            elif every:
                yield _row(command, name, _default(command, name), "default")
    if find_spec("pydantic_settings"):
        from headrace.cli.run.gateway_config import gateway_rows

        yield from (_row("gateway", *row) for row in gateway_rows(file, every))
    elif file.gateway:
        remark(
            f"[gateway] was not looked at: what knows its settings comes with {installation_of('pydantic_settings')}"
        )


def _default(command: str, name: str) -> Any:
    from headrace.cli.run.serve_options import ServeOptions
    from headrace.cli.up.up import up

    attribute = name.replace("-", "_")
    return getattr(ServeOptions(), attribute) if command == "serve" else signature(up).parameters[attribute].default


def _row(section: str, name: str, value: Any, source: str) -> dict[str, Any]:
    return {"section": section, "name": name, "value": value, "source": source}
