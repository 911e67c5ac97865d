"""`headrace backup …`: make, list and restore backups of a cluster in a folder."""

from typing import Annotated

import typer

from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, UnusedBootstrap

app = typer.Typer(help="Make, list and restore backups.", no_args_is_help=True, rich_markup_mode=None)

FolderName = Annotated[str, typer.Argument(metavar="FOLDER", show_default=False)]
Topics = Annotated[str, typer.Option(metavar="TOPIC,…", help="Only these topics.")]


@app.command()
def create(
    folder: FolderName,
    topics: Topics = "",
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long open transactions may take to end.", min=0)
    ] = 60.0,
    no_users: Annotated[bool, typer.Option("--no-users", help="Leave users and rules (ACLs) out.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Save topics, settings, group offsets, users, rules and data; of data only what the folder does not have yet."""
    from headrace.backup.create import Extent
    from headrace.cli.backup.runs import create, names_of

    create(bootstrap, folder, Extent(names_of(topics), not no_users, wait), as_json)


@app.command("list")
def list_backups(
    folder: FolderName,
    verify: Annotated[bool, typer.Option("--verify", help="Read all files and compare their checksums.")] = False,
    bootstrap: UnusedBootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> int:
    """Show the backups of a folder, and whether all their files are there."""
    from headrace.cli.backup.runs import list_backups

    return list_backups(folder, verify, as_json)


@app.command()
def restore(
    folder: FolderName,
    backup: Annotated[str, typer.Option(metavar="ID", help="Which one; the newest if not given.")] = "",
    topics: Topics = "",
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Put this before the names of restored topics.")] = "",
    replication_factor: Annotated[
        int | None, typer.Option(metavar="N", help="Copies of each topic; as many as it had, if not given.", min=1)
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Delete topics that exist, and restore them.")] = False,
    skip_existing: Annotated[bool, typer.Option("--skip-existing", help="Leave topics that exist alone.")] = False,
    no_groups: Annotated[bool, typer.Option("--no-groups", help="Leave group offsets alone.")] = False,
    no_settings: Annotated[
        bool, typer.Option("--no-settings", help="Leave settings of the whole cluster alone.")
    ] = False,
    no_users: Annotated[bool, typer.Option("--no-users", help="Leave users and rules (ACLs) alone.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the backup, show the plan and do nothing.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Bring what a backup holds, or some topics of it, into a cluster, after showing the plan and asking."""
    from headrace.backup.plan import RestoreWish
    from headrace.cli.backup.runs import names_of, restore

    _check_options(replace and skip_existing, as_json and not (yes or dry_run))
    wish = RestoreWish(
        frozenset(names_of(topics)),
        prefix,
        replication_factor,
        replace,
        skip_existing,
        not no_groups,
        not no_settings,
        not no_users,
    )
    restore(bootstrap, folder, backup, wish, yes, dry_run, as_json)


def _check_options(is_contradiction: bool, has_nobody_to_ask: bool) -> None:
    from headrace.cli.failure import ExitCode, Failure

    if is_contradiction:
        raise Failure("--replace and --skip-existing contradict each other", "give one of them", ExitCode.USAGE)
    if has_nobody_to_ask:
        raise Failure(
            "restore asks first, and with --json there is nobody to ask", "add --yes, or --dry-run", ExitCode.USAGE
        )
