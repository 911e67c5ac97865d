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
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Save topics, settings, group offsets and data; of data only what the folder does not have yet."""
    from headrace.cli.backup.runs import create

    create(bootstrap, folder, topics, wait, as_json)


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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the backup, show the plan and do nothing.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Bring topics, settings and group offsets of a backup into a cluster, after showing the plan and asking."""
    from headrace.backup.plan import RestoreWish
    from headrace.cli.backup.runs import names_of, restore
    from headrace.cli.failure import ExitCode, Failure

    if replace and skip_existing:
        raise Failure("--replace and --skip-existing contradict each other", "give one of them", ExitCode.USAGE)
    if as_json and not (yes or dry_run):
        raise Failure(
            "restore asks first, and with --json there is nobody to ask", "add --yes, or --dry-run", ExitCode.USAGE
        )
    wish = RestoreWish(
        frozenset(names_of(topics)), prefix, replication_factor, replace, skip_existing, not no_groups, not no_settings
    )
    restore(bootstrap, folder, backup, wish, yes, dry_run, as_json)
