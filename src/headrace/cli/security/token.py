"""`headrace token …`: scoped tokens, which do less than their owner may, and log in anywhere a password does."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap
from headrace.cli.security.token_options import Narrowing, with_narrowing_options
from headrace.security.scoped_tokens import (
    PREFIX,
    BadToken,
    Caveat,
    ScopedToken,
    narrowed,
    parse_name,
    parse_token,
    whole_token,
)

app = typer.Typer(
    help="Make tokens that may do less than you, narrow them further, and revoke them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

TokenFile = Annotated[
    str, typer.Argument(metavar="[FILE]", show_default=False, help="A file with the token; - or nothing reads stdin.")
]
STDIN = "-"
_WHOLE = "give all of the token, as it was printed"


@app.command()
@with_narrowing_options
def create(
    narrowing: Narrowing,
    everything: Annotated[bool, typer.Option("--everything", help="Let it do all that you may.")] = False,
    owner: Annotated[
        str | None, typer.Option(metavar="USER", help="Whose rights it has, if not yours; needs CreateTokens on them.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Print a token that can do what the options say, as far as you may: create --read orders --group 'spark-*' --ttl 1h."""
    from headrace.admin.tokens import create_token
    from headrace.cli.connection import with_admin

    if not narrowing.grants and not everything:
        fix = "say what it may, as --read TOPIC --group GROUP, or --everything"
        raise Failure("this token could do all that you may", fix, ExitCode.USAGE)
    # Its life is that of the token in the cluster.
    caveats = narrowing._replace(ttl_ms=None).caveats()
    _narrowed(whole_token("0" * 36, b""), caveats)
    made = with_admin(bootstrap, lambda admin: create_token(admin, owner, narrowing.ttl_ms))
    token = _narrowed(whole_token(made.id, made.key), caveats)
    _print(token, as_json, made.owner, made.expires_ms)


@app.command()
@with_narrowing_options
def narrow(narrowing: Narrowing, file: TokenFile = STDIN, as_json: AsJson = False) -> None:
    """Print a token that can do less than the one it is given; asks no broker."""
    if not narrowing.caveats():
        raise Failure("nothing is to be taken away", "say what is left, as --read TOPIC or --ttl 10m", ExitCode.USAGE)
    _print(_narrowed(_read(file), narrowing.caveats()), as_json)


def _narrowed(token: ScopedToken, caveats: Sequence[Caveat]) -> ScopedToken:
    try:
        return narrowed(token, caveats)
    except BadToken as error:
        raise Failure(str(error), "give fewer limits, or make a new token", ExitCode.USAGE) from None


@app.command()
def show(file: TokenFile = STDIN, as_json: AsJson = False) -> None:
    """Show what a token says it may do; asks no broker, so it may have been revoked."""
    from headrace.cli.output import show_fields, show_json
    from headrace.cli.security.token_view import token_view

    try:
        view = token_view(_read(file))
    except BadToken as error:
        raise Failure(str(error), "a newer release may understand it", ExitCode.USAGE) from None
    if as_json:
        show_json(view)
    else:
        show_fields(view)


@app.command("list")
def list_all(
    owner: Annotated[list[str] | None, typer.Option(metavar="USER", help="Only of this user; may be repeated.")] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """List the tokens that you may see: yours, and others' where rules allow."""
    from headrace.admin.tokens import list_tokens
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json, show_rows
    from headrace.cli.security.token_view import COLUMNS, listed_view

    rows = [listed_view(each) for each in with_admin(bootstrap, lambda admin: list_tokens(admin, owner or ()))]
    if as_json:
        show_json(rows)
    else:
        show_rows(rows, COLUMNS, empty="no tokens; `headrace token create` makes one")


@app.command()
def revoke(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
    owner: Annotated[list[str] | None, typer.Option(metavar="USER", help="All tokens of this user.")] = None,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Only a narrowed token: a file with it, or with what stands before its last dot; - reads stdin.",
        ),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Revoke tokens, with all that were narrowed from them: their connections are closed."""
    from headrace.cli.output import show_json

    if not ids and not owner and token is None:
        fix = "name ids (`headrace token list`), --owner USER, or --token FILE for one that was narrowed"
        raise Failure("no token is named", fix, ExitCode.USAGE)
    _check_ids(ids or [])
    alone = None if token is None else _read_named(token)
    ended = _ended(bootstrap, alone, ids or (), owner or ())
    if as_json:
        show_json({"revoked": ended, **({} if alone is None else {"narrowed_from": alone.id})})
        return
    lines = [] if alone is None else [f"revoked what was narrowed so from token {alone.id}"]
    print("\n".join([*lines, *(f"revoked token {each}" for each in ended)]) or "no tokens to revoke")


def _ended(bootstrap: str, alone: ScopedToken | None, ids: Sequence[str], owners: Sequence[str]) -> list[str]:
    """Ends them; the ids of those that are not narrowed."""
    from headrace.admin.tokens import end_narrowed, end_tokens
    from headrace.cli.connection import with_admin

    if alone is not None:
        with_admin(bootstrap, lambda admin: end_narrowed(admin, alone.name))
    if not ids and not owners:
        return []
    return with_admin(bootstrap, lambda admin: end_tokens(admin, ids, owners))


def _check_ids(ids: list[str]) -> None:
    if any(each.startswith(PREFIX) for each in ids):
        fix = "`headrace token show` tells its id: revoke that, or the token alone with --token FILE"
        raise Failure("a token itself was given, and others on this machine could see it", fix, ExitCode.USAGE)


def _read_named(file: str) -> ScopedToken:
    """A token as its text says, or as its name does."""
    text = _text_of(file)
    try:
        return parse_token(text) if text.count(".") > PREFIX.count(".") else parse_name(text)
    except BadToken as error:
        raise Failure(str(error), _WHOLE, ExitCode.USAGE) from None


def _read(file: str) -> ScopedToken:
    try:
        return parse_token(_text_of(file))
    except BadToken as error:
        raise Failure(str(error), _WHOLE, ExitCode.USAGE) from None


def _text_of(file: str) -> str:
    import sys
    from pathlib import Path

    try:
        return (sys.stdin.read() if file == STDIN else Path(file).read_text()).strip()
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or "it is no text"
        raise Failure(f"the token cannot be read: {cause}", "name a file with the token", ExitCode.USAGE) from None


def _print(token: ScopedToken, as_json: bool, owner: str | None = None, expires_ms: int | None = None) -> None:
    """The token alone on stdout; what is worth knowing of it beside that."""
    from headrace.cli.output import remark, show_json
    from headrace.cli.security.token_view import moment, token_view

    known: dict[str, Any] = {} if owner is None else {"owner": owner, "expires": moment(expires_ms)}
    if as_json:
        show_json({**token_view(token), **known, "token": token.text})
        return
    print(token.text)
    if owner is not None:
        remark(f"token {token.id} of {owner} until {moment(expires_ms)}; it is not shown again")
