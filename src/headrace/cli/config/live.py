"""`headrace config get|set|unset`: the settings of running brokers, for all of them or for one."""

from collections.abc import Sequence
from typing import Annotated

import typer

from headrace.cli.config.commands import app as app
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, parse_pairs

Broker = Annotated[
    int | None, typer.Option("--broker", metavar="ID", help="Of this broker only; otherwise of all.", min=0)
]


@app.command("get")
def get(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME…]", show_default=False)] = None,
    broker: Broker = None,
    every: Annotated[bool, typer.Option("--all", help="Show settings that stand at their default too.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show the settings of a running broker and where each comes from; without --broker, what is set for all."""
    from headrace.admin.admin import BROKER, Resource
    from headrace.admin.configs import ALL_BROKERS, describe_configs
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json, show_rows

    resource = Resource(BROKER, ALL_BROKERS if broker is None else str(broker))
    configs = with_admin(bootstrap, lambda admin: describe_configs(admin, resource))
    if broker is not None:
        _require_known(names or (), [each.name for each in configs])
    rows = [
        {"name": each.name, "value": each.value, "source": each.source, "live": not each.read_only}
        for each in configs
        if (each.name in names if names else every or each.source != "default")
    ]
    if as_json:
        show_json(rows)
        return
    nothing = "nothing is set for all brokers; --broker ID shows the settings of one" if broker is None else "nothing"
    show_rows(rows, {"name": "NAME", "value": "VALUE", "source": "SOURCE", "live": "LIVE"}, empty=nothing)


@app.command("set")
def set_configs(
    pairs: Annotated[list[str], typer.Argument(metavar="NAME=VALUE…", show_default=False)],
    broker: Broker = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Change settings of running brokers, kept over restarts; those marked "live" in docs/configuration.md can change."""
    _alter(dict(parse_pairs(pairs, "config set")), broker, bootstrap, as_json)


@app.command("unset")
def unset(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", show_default=False)],
    broker: Broker = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Take back what `set` has set: the broker's own start settings, or the defaults, count again."""
    _alter(dict.fromkeys(names), broker, bootstrap, as_json)


def _alter(changes: dict[str, str | None], broker: int | None, bootstrap: str, as_json: bool) -> None:
    from headrace.admin.admin import BROKER, Resource
    from headrace.admin.configs import ALL_BROKERS
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json

    _require_known(changes)
    resource = Resource(BROKER, ALL_BROKERS if broker is None else str(broker))
    with_admin(bootstrap, lambda admin: admin.alter_configs({resource: changes}))
    if as_json:
        show_json({"broker": broker, "configs": changes})
        return
    done = [f"{name} taken back" if value is None else f"{name}={value}" for name, value in changes.items()]
    print(f"{'all brokers' if broker is None else f'broker {broker}'}: {', '.join(done)}")


def _require_known(names: Sequence[str] | dict[str, str | None], known: Sequence[str] = ()) -> None:
    from headrace.cluster.broker_settings import broker_setting
    from headrace.cluster.kafka_settings import unknown_broker_setting

    for name in names:
        if broker_setting(name) is None and name not in known:
            unknown = unknown_broker_setting(name)
            raise Failure(unknown.cause, unknown.fix or "docs/configuration.md lists them all", ExitCode.USAGE)
