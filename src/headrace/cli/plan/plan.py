"""`headrace plan`: what a load needs, with the arithmetic beside each figure."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, UnusedBootstrap


def plan(
    rate: Annotated[str, typer.Option(help="Messages, as 1M/s, 500k/s or 2M/min.")] = "1M/s",
    size: Annotated[str, typer.Option(help="Of one message, as it is stored: 1KB, 200B.")] = "1KB",
    rf: Annotated[int, typer.Option("--rf", help="Replicas of each partition.", min=1, max=10)] = 3,
    retention: Annotated[str, typer.Option(help="How long it is kept: 7d, 12h.")] = "7d",
    readers: Annotated[int, typer.Option(help="Groups that read everything.", min=0, max=1000)] = 1,
    batch: Annotated[str, typer.Option(help="What producers send at once.")] = "100KB",
    disk: Annotated[str, typer.Option(help="Size of one disk.")] = "16TB",
    network: Annotated[str, typer.Option(help="Line rate of one network card.")] = "25Gb/s",
    broker_price: Annotated[float | None, typer.Option(help="Of a broker, a month.", min=0)] = None,
    tb_price: Annotated[float | None, typer.Option(help="Of a terabyte of disk, a month.", min=0)] = None,
    bench: Annotated[Path | None, typer.Option(help="JSON of `python -m bench` on your machine.")] = None,
    as_json: AsJson = False,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Bytes, brokers, disks, network and memory that a load needs, and how that grows."""
    from headrace.base import units
    from headrace.cli.output import show_json
    from headrace.cli.plan.view import plan_view, show_plan
    from headrace.gateway import planner
    from headrace.gateway.bench_figures import read_measured

    load = planner.Load(
        _parsed(units.parse_rate, rate, "--rate"),
        _parsed(units.parse_bytes, size, "--size"),
        rf,
        _parsed(units.parse_seconds, retention, "--retention"),
        readers,
        _parsed(units.parse_bytes, batch, "--batch"),
    )
    margins = planner.Margins(
        disk_bytes=_parsed(units.parse_bytes, disk, "--disk"),
        network_bytes_per_second=_parsed(units.parse_bits_per_second, network, "--network"),
    )
    priced = broker_price is not None or tb_price is not None
    prices = planner.Prices(broker_price or 0.0, tb_price or 0.0) if priced else None
    measured = planner.FROM_DOCS if bench is None else read_measured(bench)
    made = planner.plan(load, measured, margins, prices)
    if as_json:
        show_json(plan_view(made))
    else:
        show_plan(made)


def _parsed(parse: Callable[[str], float], text: str, option: str) -> float:
    try:
        return parse(text)
    except ValueError as error:
        raise Failure(f"{option}: {error}", f"see `headrace plan --help` for {option}", ExitCode.USAGE) from None
