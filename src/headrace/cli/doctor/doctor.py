"""`headrace doctor`: looks at everything a broker stands on and says what is not right, why, and what to do."""

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.doctor.findings import Finding
from headrace.cli.failure import ExitCode
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    data: Annotated[Path, typer.Option(help="The data directory, as given to `up`.")] = Path("data"),
    port: Annotated[int, typer.Option(help="The port `up` would use.", min=1, max=65535)] = 9092,
    http_port: Annotated[int, typer.Option(help="The HTTP port `up` would use.", min=1, max=65535)] = 8080,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> int:
    """Check ports, disk, clock, limits, libraries and data. Exit code 1 when something must be mended."""
    from headrace.cli.doctor import cluster_check, machine_check
    from headrace.cli.output import show_json

    findings: list[Finding] = [
        *machine_check.check_software(),
        machine_check.check_descriptors(),
        *machine_check.check_clock(),
        *machine_check.check_disk(data),
        *cluster_check.check_data(data),
        *cluster_check.check_ports("127.0.0.1", port, http_port),
        *cluster_check.check_brokers(bootstrap),
    ]
    if as_json:
        show_json([vars(finding) for finding in findings])
    else:
        _show(findings)
    return ExitCode.FAILED if any(finding.verdict == "fail" for finding in findings) else ExitCode.OK


def _show(findings: list[Finding]) -> None:
    from rich.markup import escape

    from headrace.cli.output import console

    screen = console()
    for finding in findings:
        colour = _COLOURS[finding.verdict]
        screen.print(f"[{colour}]{finding.verdict:<4}[/]  {finding.name:<12}  {escape(finding.text)}", soft_wrap=True)
        if finding.fix:
            screen.print(f"      {'':<12}  [bold]fix:[/] {escape(finding.fix)}", soft_wrap=True)
