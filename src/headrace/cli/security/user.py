"""`headrace user …`: users who log in with passwords, over the admin protocol, or in the store before the first start."""

from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap

if TYPE_CHECKING:
    from headrace.wire.messages.scram import ScramCredentialUpsertion

app = typer.Typer(
    help="Add, list and delete users who log in with passwords.", no_args_is_help=True, rich_markup_mode=None
)

UserArgument = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]


@app.command()
def add(
    name: UserArgument,
    password: Annotated[
        str | None,
        typer.Option(
            help="The password; others on this machine can see it in the list of processes.", show_default=False
        ),
    ] = None,
    password_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file with the password in one line; - reads stdin.")
    ] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="SCRAM-SHA-256 or SCRAM-SHA-512; both if not given.")
    ] = None,
    store: Annotated[
        str,
        typer.Option(metavar="STORE", help="Write into this metadata store, as of `serve --store`; asks no broker."),
    ] = "",
    data: Annotated[
        str, typer.Option(metavar="DIR", help="Write into the store in this data directory; asks no broker.")
    ] = "",
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Add a user, or give one another password."""
    from headrace.cli.output import show_json
    from headrace.cli.security.passwords import asked_password, salted_credentials

    credentials = salted_credentials(name, asked_password(name, password, password_file), mechanism or ())
    if store or data:
        _add_to_store(store, data, credentials)
    else:
        _add_by_broker(bootstrap, credentials)
    names = [_name_of(each.mechanism) for each in credentials]
    if as_json:
        show_json({"user": name, "mechanisms": names})
    else:
        print(f"user {name} logs in with {' or '.join(names)}, or PLAIN where it is offered")


@app.command("list")
def list_all(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """List the users and their mechanisms."""
    from headrace.admin.users import list_users
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json, show_rows

    rows = [{"user": each.name, "mechanisms": list(each.mechanisms)} for each in with_admin(bootstrap, list_users)]
    if as_json:
        show_json(rows)
    else:
        columns = {"user": "USER", "mechanisms": "MECHANISMS"}
        show_rows(rows, columns, empty="no users yet; `headrace user add NAME` makes one")


@app.command()
def delete(name: UserArgument, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Delete a user. Connections that are logged in stay so until their login is over (connections.max.reauth.ms)."""
    from headrace.admin.users import delete_user
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json

    with_admin(bootstrap, lambda admin: delete_user(admin, name))
    if as_json:
        show_json({"user": name})
    else:
        print(f"deleted user {name}")


def _add_by_broker(bootstrap: str, credentials: "list[ScramCredentialUpsertion]") -> None:
    from headrace.admin.users import upsert_user
    from headrace.cli.connection import with_admin

    with_admin(bootstrap, lambda admin: upsert_user(admin, credentials))


def _add_to_store(store: str, data: str, credentials: "list[ScramCredentialUpsertion]") -> None:
    import asyncio

    from headrace.cli.run.serve_options import ServeOptions
    from headrace.cli.security.user_store import put_users

    if store and data:
        raise Failure("--store and --data both name a store", "give one of them", ExitCode.USAGE)
    where = ServeOptions(data=data, store=store).store_path
    asyncio.run(put_users(where, credentials))


def _name_of(number: int) -> str:
    from headrace.security.credentials import MECHANISM_NUMBERS

    return MECHANISM_NUMBERS[number]
