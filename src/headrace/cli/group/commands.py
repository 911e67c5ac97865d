"""`headrace group …`: list, describe, lag and members of consumer groups; reset and delete what they have committed."""

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap

app = typer.Typer(help="List, describe, reset and delete consumer groups.", no_args_is_help=True, rich_markup_mode=None)

GroupName = Annotated[str, typer.Argument(metavar="GROUP", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.command("list")
def list_groups(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """List the groups with state, type and number of members."""
    from headrace.cli.connection import with_admin
    from headrace.cli.group.view import list_groups
    from headrace.cli.output import show_json, show_rows

    rows = with_admin(bootstrap, list_groups)
    if as_json:
        show_json(rows)
        return
    columns = {"group": "GROUP", "state": "STATE", "type": "TYPE", "members": "MEMBERS"}
    show_rows(rows, columns, empty="no groups yet; a consumer with a group.id makes one")


@app.command()
def describe(group: GroupName, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Show state, coordinator and assignor, and of every partition the commit, the lag and who reads it."""
    from headrace.cli.connection import with_admin
    from headrace.cli.group.view import describe_group, show_group
    from headrace.cli.output import show_json

    view = with_admin(bootstrap, lambda admin: describe_group(admin, group))
    if as_json:
        show_json(view)
    else:
        show_group(view)


@app.command()
def lag(group: GroupName, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Show how many messages the group is behind, by topic and in all."""
    from headrace.cli.connection import with_admin
    from headrace.cli.group.view import describe_group, lag_by_topic
    from headrace.cli.output import show_json, show_rows

    rows = lag_by_topic(with_admin(bootstrap, lambda admin: describe_group(admin, group))["partitions"])
    total = sum(row["lag"] for row in rows)
    if as_json:
        show_json({"group": group, "lag": total, "topics": rows})
        return
    columns = {"topic": "TOPIC", "partitions": "PARTITIONS", "lag": "LAG", "worst": "WORST PARTITION"}
    show_rows(rows, columns, empty=f"group {group} has committed nothing yet")
    print(f"\nlag of {group}: {total:,}")


@app.command()
def members(group: GroupName, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, as_json: AsJson = False) -> None:
    """Show who is in the group, from where, and what each reads."""
    from headrace.admin.groups import describe_group
    from headrace.cli.connection import with_admin
    from headrace.cli.group.view import member_rows
    from headrace.cli.output import show_json, show_rows

    rows = member_rows(with_admin(bootstrap, lambda admin: describe_group(admin, group)))
    if as_json:
        show_json(rows)
        return
    columns = {"member": "MEMBER", "instance": "INSTANCE", "client": "CLIENT", "host": "HOST", "partitions": "READS"}
    show_rows(rows, columns, empty=f"nobody is in group {group}")


@app.command()
def reset(
    group: GroupName,
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC[:0,1,…]", help="Only these; every topic that has commits if not given."),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="Read everything again.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="Skip everything there is.")] = False,
    to_offset: Annotated[int | None, typer.Option(min=0, help="This offset in each partition.")] = None,
    to_time: Annotated[str | None, typer.Option(metavar="TIME", help="ISO form or epoch ms.")] = None,
    by_duration: Annotated[str | None, typer.Option(metavar="2h|PT2H", help="So long ago.")] = None,
    shift_by: Annotated[int | None, typer.Option(metavar="±N", help="Forward, or back with a minus.")] = None,
    from_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Lines of topic,partition,offset, as Kafka's tool exports.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")] = False,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Move what the group has committed, after showing the plan and asking. Refused while it has members."""
    from headrace.admin.reset import apply_reset, plan_reset
    from headrace.cli.connection import with_admin
    from headrace.cli.group.plan import parse_chosen, reset_view, show_resets
    from headrace.cli.group.reset_target import choose_target
    from headrace.cli.output import show_json

    target = choose_target(to_earliest, to_latest, to_offset, to_time, by_duration, shift_by, from_file)
    if as_json and not (yes or dry_run):
        raise Failure("reset asks first, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE)
    chosen = parse_chosen(topic or [])
    resets = with_admin(bootstrap, lambda admin: plan_reset(admin, group, chosen, target))
    if not as_json:
        show_resets(resets)
    if not dry_run:
        if not yes:
            _confirm_reset(group, len(resets))
        with_admin(bootstrap, lambda admin: apply_reset(admin, group, resets))
    if as_json:
        show_json(reset_view(group, resets, applied=not dry_run))
    elif not dry_run:
        print(f"reset {group}")


@app.command()
def delete(
    groups: Annotated[list[str], typer.Argument(metavar="GROUP…", show_default=False)],
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Delete groups with all they have committed. Refused while they have members."""
    from headrace.admin.groups import delete_groups, require_no_members
    from headrace.cli.connection import with_admin
    from headrace.cli.output import count_of, show_json

    if as_json and not yes:
        raise Failure("delete asks first, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE)
    with_admin(bootstrap, lambda admin: require_no_members(admin, groups))
    question = f"Delete {count_of(len(groups), 'group')} ({', '.join(groups)}) with what they have committed?"
    if not yes and not typer.confirm(question):
        raise Failure("nothing was deleted", "answer y, or add --yes", ExitCode.REFUSED)
    with_admin(bootstrap, lambda admin: delete_groups(admin, groups))
    if as_json:
        show_json([{"group": group} for group in groups])
    else:
        print(f"deleted {', '.join(groups)}")


def _confirm_reset(group: str, partitions: int) -> None:
    from headrace.cli.output import count_of

    if not typer.confirm(f"Reset {count_of(partitions, 'partition')} of {group}?"):
        raise Failure("nothing was reset", "answer y, or add --yes", ExitCode.REFUSED)
