"""The commands in one tree, and the one place where an exception becomes words and an exit code.

A command's own module imports its heavy libraries when it runs, so that `headrace --help` stays quick.
"""

import os
from collections.abc import Sequence

import typer
from typer.core import TyperGroup
from typer.models import CommandInfo

from headrace.base.errors import UserError
from headrace.base.extras import installation_of
from headrace.cli import pipeline, spark, txn, version, webhook
from headrace.cli.backup import commands as backup
from headrace.cli.client_file import offer_client_file
from headrace.cli.cluster import commands as cluster
from headrace.cli.config import live as live_config
from headrace.cli.doctor import doctor
from headrace.cli.failure import ExitCode, Failure, show_failure
from headrace.cli.group import commands as group
from headrace.cli.log import commands as logdump
from headrace.cli.messages import consume, produce
from headrace.cli.plan import plan
from headrace.cli.run import gateway
from headrace.cli.security import acl, certs, token, user
from headrace.cli.topic import commands as topic
from headrace.cli.up import process, up

STDOUT = 1
_GROUPS = {
    "acl": acl.app,
    "topic": topic.app,
    "log": logdump.app,
    "cluster": cluster.app,
    "group": group.app,
    "txn": txn.app,
    "user": user.app,
    "token": token.app,
    "webhook": webhook.app,
    "backup": backup.app,
    "pipeline": pipeline.app,
    "config": live_config.app,
    "certs": certs.app,
}

app = typer.Typer(
    name="headrace",
    help="A durable, partitioned log that speaks the Kafka protocol.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused, 5 no broker answers, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up.up)
app.command("gateway")(gateway.gateway)
app.command("kill")(process.kill)
app.command("stop")(process.stop)
app.command("start")(process.start)
app.add_typer(topic.app, name="topic")
app.add_typer(group.app, name="group")
app.add_typer(txn.app, name="txn")
app.add_typer(user.app, name="user")
app.add_typer(token.app, name="token")
app.add_typer(acl.app, name="acl")
app.add_typer(webhook.app, name="webhook")
app.add_typer(cluster.app, name="cluster")
app.add_typer(backup.app, name="backup")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(live_config.app, name="config")
app.add_typer(certs.app, name="certs")
app.command("spark")(spark.spark)
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.add_typer(logdump.app, name="log")
app.command("plan")(plan.plan)
app.command("doctor")(doctor.doctor)
app.command("version")(version.version)


@app.command("serve", add_help_option=False)
def serve() -> None:
    """Run one broker in the foreground: what `up` starts, and what a service unit should."""
    raise AssertionError("main() takes `serve` before typer is imported")


def command_tree() -> TyperGroup:
    """All commands as they are offered, with what several of them have in common."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    offer_client_file(group)
    return group


def run(arguments: Sequence[str]) -> int:
    as_json = "--json" in arguments
    try:
        outcome = command_tree()(args=list(arguments), prog_name="headrace", standalone_mode=False)
        return outcome if isinstance(outcome, int) else ExitCode.OK
    except (KeyboardInterrupt, typer.Abort):
        return ExitCode.INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        # typer turns a broken pipe into exit code 1. But a reader (`head`, `less`) that has seen enough is no failure.
        if not isinstance(error if isinstance(error, OSError) else error.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)  # where Python flushes what is left, at exit
        return ExitCode.OK
    except Exception as error:
        if os.environ.get("HEADRACE_DEBUG") == "1":
            raise
        return report(error, arguments, as_json)


def report(error: Exception, arguments: Sequence[str], as_json: bool) -> int:
    if isinstance(error, UserError):
        show_failure(error.cause, error.fix, as_json)
        return error.code if isinstance(error, Failure) else ExitCode.FAILED
    if isinstance(error, ModuleNotFoundError) and (fix := installation_of(error.name or "")):
        show_failure(f"this needs {error.name}, which is not installed", fix, as_json)
        return ExitCode.FAILED
    words = getattr(error, "format_message", None)
    if words is not None:
        command = " ".join(["headrace", *_command_words(arguments)])
        show_failure(words(), f"see `{command} --help`", as_json)
        return ExitCode.USAGE
    show_failure(
        f"{type(error).__name__}: {error}",
        "this is a fault of headrace; HEADRACE_DEBUG=1 shows where it happened",
        as_json,
    )
    return ExitCode.FAILED


def _command_words(arguments: Sequence[str]) -> list[str]:
    first = list(arguments[:1]) if arguments and not arguments[0].startswith("-") else []
    if first and first[0] in _GROUPS and len(arguments) > 1 and not arguments[1].startswith("-"):
        first.append(arguments[1])
    known = {_name(command) for group in (app, *_GROUPS.values()) for command in group.registered_commands}
    return [word for word in first if word in known or word in _GROUPS]


def _name(command: CommandInfo) -> str | None:
    return command.name or (command.callback.__name__ if command.callback else None)
