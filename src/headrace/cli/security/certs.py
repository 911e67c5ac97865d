"""`headrace certs`: certificates for a test cluster, and whom a certificate is for, until when."""

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.options import AsJson

app = typer.Typer(no_args_is_help=True, help="Certificates for TLS: make some for a test cluster, look at any.")

_LOCAL = ["localhost", "127.0.0.1", "::1"]


@app.command()
def create(
    folder: Annotated[Path, typer.Argument(help="Where the files go; an authority that lies there signs.")],
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name or address of the brokers, as clients call them; repeatable. This machine if not given."
        ),
    ] = None,
    broker: Annotated[
        list[str] | None,
        typer.Option(help="A certificate for this broker, in a file of this name; repeatable. `broker` if not given."),
    ] = None,
    client: Annotated[list[str] | None, typer.Option(help="A certificate for this client; repeatable.")] = None,
    days: Annotated[int, typer.Option(help="How long they are good for.", min=1, max=3650)] = 365,
    as_json: AsJson = False,
) -> None:
    """Make an authority and certificates for brokers and clients, in PEM files. Not for production: its key is a file."""
    from headrace.cli.output import show_json
    from headrace.cli.security.certificates import CA_FILE, Authority, save_private

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = Authority.in_folder(folder, max(days, 3650))
    wanted = dict.fromkeys(broker or ["broker"], host or _LOCAL) | {name: [] for name in client or []}
    for name, hosts in wanted.items():
        save_private(folder / f"{name}.pem", authority.issue(name, hosts, days))
    files = [str(folder / f"{name}.pem") for name in wanted]
    if as_json:
        show_json({"ca": str(folder / CA_FILE), "files": files, "days": days})
        return
    print(f"authority  {folder / CA_FILE}")
    for path in files:
        print(f"made       {path}")


@app.command()
def show(
    what: Annotated[
        str, typer.Argument(help="A PEM file, or HOST:PORT of a listener with TLS.", metavar="FILE|HOST:PORT")
    ],
    as_json: AsJson = False,
) -> None:
    """Show whom certificates are for, who signed them, and until when they are good."""
    from headrace.cli.output import show_fields, show_json
    from headrace.cli.security.certificates import read_file, read_server

    host, _, port = what.rpartition(":")
    is_address = host and port.isdecimal() and not Path(what).exists()
    found = read_server(host.strip("[]"), int(port)) if is_address else read_file(Path(what))
    rows = [each.as_row() for each in found]
    if as_json:
        show_json(rows)
        return
    for number, row in enumerate(rows):
        if number:
            print()
        show_fields(row)
