"""`headrace cluster …`: how the cluster stands, and moving partitions and leaders about in it.

Whatever changes something shows its plan first and asks. A move that has begun goes on without this process: Ctrl-C only
stops watching it.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, TopicName

if TYPE_CHECKING:
    from headrace.cli.cluster.moves import MoveOptions

app = typer.Typer(
    help="How the cluster stands; move partitions and leaders.", no_args_is_help=True, rich_markup_mode=None
)

BrokerId = Annotated[int, typer.Argument(metavar="BROKER", min=0, show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and do nothing.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Begin, and do not wait for the end.")]
Throttle = Annotated[
    str | None,
    typer.Option(metavar="BYTES/S", help="Copy no faster than this on any broker, as 50MB; lifted at the end."),
]


@app.command()
def status(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Show brokers, leaders, and every partition that is offline, under-replicated or moving, with its lag."""
    from headrace.admin.status import status_of
    from headrace.admin.survey import survey
    from headrace.cli.cluster.status import show_status
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json

    seen = with_admin(bootstrap, survey)
    if as_json:
        show_json(status_of(seen))
    else:
        show_status(seen)


@app.command()
def rebalance(
    throttle: Throttle = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Spread replicas and leaders evenly over the live brokers, in different racks where there are racks."""
    from headrace.admin import moves
    from headrace.cli.cluster.moves import MoveOptions

    _move(MoveOptions(moves.rebalance, throttle, yes, dry_run, no_wait, as_json), bootstrap)


@app.command()
def drain(
    broker: BrokerId,
    throttle: Throttle = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Move everything off a broker, so that it can be taken away. It may be dead already."""
    from headrace.admin import moves
    from headrace.cli.cluster.moves import MoveOptions

    _move(MoveOptions(moves.drain(broker), throttle, yes, dry_run, no_wait, as_json), bootstrap)


@app.command()
def replace(
    old: Annotated[int, typer.Argument(metavar="OLD", min=0, show_default=False)],
    new: Annotated[int, typer.Argument(metavar="NEW", min=0, show_default=False)],
    throttle: Throttle = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Move everything from one broker, alive or dead, to another."""
    from headrace.admin import moves
    from headrace.cli.cluster.moves import MoveOptions

    _move(MoveOptions(moves.replace(old, new), throttle, yes, dry_run, no_wait, as_json), bootstrap)


@app.command()
def add(
    brokers: Annotated[
        list[int] | None,
        typer.Argument(metavar="[BROKER…]", help="Those that joined; all that hold nothing, if none is named."),
    ] = None,
    throttle: Throttle = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Give brokers that joined their share: partitions move on to them and nowhere else."""
    from headrace.admin import moves
    from headrace.cli.cluster.moves import MoveOptions

    _move(MoveOptions(moves.add(brokers or []), throttle, yes, dry_run, no_wait, as_json), bootstrap)


@app.command()
def replicas(
    topic: TopicName,
    factor: Annotated[int, typer.Argument(metavar="COUNT", min=1, show_default=False)],
    throttle: Throttle = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Give a topic more replicas of each partition, or fewer."""
    from headrace.admin import moves
    from headrace.cli.cluster.moves import MoveOptions

    planner = moves.replication_factor(topic, factor)
    _move(MoveOptions(planner, throttle, yes, dry_run, no_wait, as_json), bootstrap)


@app.command()
def reassignments(
    cancel: Annotated[bool, typer.Option("--cancel", help="Stop them: what was being added goes again.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show progress until all are done.")] = False,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show partitions that are moving, watch them to the end, or cancel them."""
    from headrace.cli.cluster.reassignments import cancel_all, list_all, watch_all
    from headrace.cli.connection import with_admin

    if cancel:
        with_admin(bootstrap, lambda admin: cancel_all(admin, yes, as_json))
    elif watch:
        with_admin(bootstrap, lambda admin: watch_all(admin, as_json))
    else:
        with_admin(bootstrap, lambda admin: list_all(admin, as_json))


@app.command()
def forget(broker: BrokerId, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Strike a dead broker that holds nothing any more off the list; its number is free again."""
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json

    with_admin(bootstrap, lambda admin: admin.forget_broker(broker))
    if as_json:
        show_json({"broker": broker, "status": "forgotten"})
    else:
        print(f"forgot broker {broker}")


@app.command()
def elect(
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC…]", help="Of these topics; of all, if none is named.")
    ] = None,
    unclean: Annotated[
        bool, typer.Option("--unclean", help="Let a replica lead that may lack acknowledged messages.")
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Give leadership back to the preferred replicas; with --unclean, give offline partitions any leader."""
    from headrace.cli.cluster.elect import elect_leaders
    from headrace.cli.connection import with_admin

    _check_somebody_agrees(yes or dry_run, as_json)
    with_admin(bootstrap, lambda admin: elect_leaders(admin, topics or [], unclean, yes, dry_run, as_json))


def _move(wanted: "MoveOptions", bootstrap: str) -> None:
    from headrace.cli.cluster.moves import move
    from headrace.cli.connection import with_admin

    _check_somebody_agrees(wanted.yes or wanted.dry_run, wanted.as_json)
    with_admin(bootstrap, lambda admin: move(admin, wanted))


def _check_somebody_agrees(agreed: bool, as_json: bool) -> None:
    if as_json and not agreed:
        raise Failure(
            "this asks before it changes anything, and with --json there is nobody to ask",
            "add --yes, or --dry-run to see the plan",
            ExitCode.USAGE,
        )
