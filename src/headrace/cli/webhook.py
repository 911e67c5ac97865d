"""`headrace webhook …`: URLs that topics are delivered to: add, list, pause, resume, redrive, delete, through a gateway."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, TopicName, UnusedBootstrap

if TYPE_CHECKING:
    from headrace.client.gateway_http import GatewayHttp

app = typer.Typer(
    help="Subscribe URLs to topics; list, pause, resume, redrive and delete them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DEFAULT_GATEWAY = "http://127.0.0.1:8080"
GATEWAY_SECONDS_MAX = 60.0

GatewayUrl = Annotated[
    str, typer.Option("--gateway", metavar="URL", envvar="HEADRACE_GATEWAY", help="A gateway; any of them will do.")
]
Id = Annotated[str, typer.Argument(metavar="ID", show_default=False)]


@app.command("list")
def list_webhooks(
    gateway: GatewayUrl = DEFAULT_GATEWAY, bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False
) -> None:
    """List the webhooks with topic, group, state and URL."""
    from headrace.cli.output import show_json, show_rows

    rows = _ask(gateway, "GET", "")["webhooks"]
    if as_json:
        show_json(rows)
        return
    columns = {"id": "ID", "topic": "TOPIC", "group": "GROUP", "state": "STATE", "callback_url": "URL"}
    show_rows(rows, columns, empty="no webhooks yet; `headrace webhook add TOPIC URL` makes one")


@app.command()
def add(
    topic: TopicName,
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    group: Annotated[str, typer.Option(help="Consumer group; one of its own if not given.")] = "",
    secret: Annotated[
        str, typer.Option(envvar="HEADRACE_WEBHOOK_SECRET", help="Signs bodies; made if not given.")
    ] = "",
    dead_letters: Annotated[str, typer.Option(metavar="TOPIC", help="TOPIC.dead-letters if not given.")] = "",
    from_earliest: Annotated[bool, typer.Option("--from-earliest", help="With what is stored already.")] = False,
    batch: Annotated[int, typer.Option(min=1, help="The most messages in one POST.")] = 100,
    tries: Annotated[int, typer.Option(min=1, help="Then messages become dead letters.")] = 12,
    gateway: GatewayUrl = DEFAULT_GATEWAY,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Subscribe a URL to a topic, and show its secret: this once."""
    from headrace.cli.output import remark, show_json

    asked: dict[str, Any] = {"topic": topic, "callback_url": url, "group": group, "secret": secret}
    asked |= {"dead_letter_topic": dead_letters, "start": "earliest" if from_earliest else "latest"}
    made = _ask(gateway, "POST", "", {**asked, "messages_max": batch, "retry": {"tries_max": tries}})
    if as_json:
        show_json(made)
        return
    remark(f"{made['id']} delivers {topic} to {url}")
    remark(f"secret: {made['secret']}   (not shown again)")


@app.command()
def describe(
    id: Id,
    gateway: GatewayUrl = DEFAULT_GATEWAY,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show one webhook, how far it is behind, and what troubles it."""
    from headrace.cli.output import show_fields, show_json

    shown = _ask(gateway, "GET", f"/{id}")
    if as_json:
        show_json(shown)
        return
    here = shown.pop("here") or {}
    again = shown.pop("redrive")
    troubles = {lane["trouble"] for lane in here.get("partitions", ()) if lane["trouble"]}
    troubles |= {here["trouble"]} if here.get("trouble") else set()
    retry = ", ".join(f"{name} {value}" for name, value in shown.pop("retry").items())
    show_fields(
        {**shown, "retry": retry, "redriving": again is not None, "trouble": "; ".join(sorted(troubles)) or None}
    )


@app.command()
def pause(
    id: Id,
    gateway: GatewayUrl = DEFAULT_GATEWAY,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Deliver nothing until it is resumed. Nothing is lost meanwhile that the topic keeps."""
    _act(gateway, id, "pause", "paused", as_json)


@app.command()
def resume(
    id: Id,
    gateway: GatewayUrl = DEFAULT_GATEWAY,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Go on where it was paused."""
    _act(gateway, id, "resume", "resumed", as_json)


@app.command()
def redrive(
    id: Id,
    gateway: GatewayUrl = DEFAULT_GATEWAY,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Deliver its dead letters again: those there are now, and that were not redriven before."""
    _act(gateway, id, "redrive", "redriving", as_json)


@app.command()
def delete(
    id: Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    gateway: GatewayUrl = DEFAULT_GATEWAY,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Delete a webhook. Its dead letters stay."""
    from headrace.cli.output import show_json

    if as_json and not yes:
        raise Failure("delete asks first, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE)
    if not yes and not typer.confirm(f"Delete webhook {id}?"):
        raise Failure("nothing was deleted", "answer y, or add --yes", ExitCode.REFUSED)
    _ask(gateway, "DELETE", f"/{id}")
    if as_json:
        show_json({"id": id})
    else:
        print(f"deleted {id}")


def _act(gateway: str, id: str, what: str, done: str, as_json: bool) -> None:
    from headrace.cli.output import show_json

    shown = _ask(gateway, "POST", f"/{id}/{what}")
    if as_json:
        show_json(shown)
    else:
        print(f"{done} {id}")


def _ask(gateway: str, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.parse import quote

    from headrace.cli.client_file import client_settings
    from headrace.client.gateway_http import GatewayHttp

    http = GatewayHttp(gateway, client_settings())
    try:
        return http.ask(method, f"/api/v1/webhooks{quote(path)}", body, GATEWAY_SECONDS_MAX)
    except HTTPError as refusal:
        with refusal:
            raise _not_logged_in(http) if refusal.code == 401 else _refused(refusal.code, refusal.read()) from None
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise Failure(
            f"no gateway answers at {gateway}: {getattr(error, 'reason', error)}",
            "start one with `headrace gateway`, or name yours with --gateway URL: https://… where callers log in",
            ExitCode.UNREACHABLE,
        ) from None


def _not_logged_in(http: "GatewayHttp") -> Failure:
    if not http.has_login:
        fix = "give --client-config FILE, or HEADRACE_CONFIG, with sasl.username and sasl.password"
    elif not http.is_tls:
        fix = "name its https address with --gateway: a login goes over https alone"
    else:
        fix = "see sasl.username and sasl.password in the file of --client-config"
    return Failure(f"the gateway at {http.url} takes nobody without a login that is right", fix, ExitCode.REFUSED)


def _refused(status: int, body: bytes) -> Failure:
    import json

    try:
        problem = json.loads(body)
        cause, fix = str(problem["detail"]), str(problem.get("fix", ""))
    except (ValueError, KeyError, TypeError):
        cause, fix = f"the gateway said {status}", "is it a gateway of Headrace?"
    code = {404: ExitCode.NOT_FOUND, 422: ExitCode.USAGE, 503: ExitCode.UNREACHABLE}.get(status, ExitCode.REFUSED)
    return Failure(cause, fix, code)
