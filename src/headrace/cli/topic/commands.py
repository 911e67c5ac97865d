"""`headrace topic …`: create, list, describe, alter and delete topics through the admin protocol."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, TopicName, parse_pairs

if TYPE_CHECKING:
    from headrace.admin.admin import Admin

app = typer.Typer(help="Create, list, describe, alter and delete topics.", no_args_is_help=True, rich_markup_mode=None)

Names = Annotated[list[str], typer.Argument(metavar="TOPIC…", show_default=False)]
Configs = Annotated[
    list[str] | None, typer.Option("--config", metavar="NAME=VALUE", help="A topic config; may be repeated.")
]


@app.command()
def create(
    topic: TopicName,
    partitions: Annotated[
        int | None, typer.Option(help="How many; the broker's num.partitions if not given.", min=1)
    ] = None,
    replication_factor: Annotated[
        int | None, typer.Option(help="Copies of each partition; the broker's default if not given.", min=1)
    ] = None,
    config: Configs = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Create a topic."""
    from headrace.cli.connection import with_admin
    from headrace.cli.output import count_of, show_json
    from headrace.cli.topic.changes import create_topic

    configs = parse_pairs(config or (), "--config")
    made = with_admin(bootstrap, lambda admin: create_topic(admin, topic, partitions, replication_factor, configs))
    count, copies = len(made.partitions), made.replication_factor
    if as_json:
        show_json({"topic": topic, "partitions": count, "replication_factor": copies})
    else:
        print(f"created {topic}: {count_of(count, 'partition')}, replication factor {copies}")


@app.command("list")
def list_topics(
    internal: Annotated[bool, typer.Option("--internal/--no-internal", help="Show internal topics too.")] = True,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """List the topics."""
    from headrace.admin import topics
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json, show_rows

    rows = [
        {
            "topic": seen.name,
            "partitions": len(seen.partitions),
            "replication_factor": seen.replication_factor,
            "internal": seen.is_internal,
        }
        for seen in with_admin(bootstrap, topics.list_topics)
        if internal or not seen.is_internal
    ]
    if as_json:
        show_json(rows)
        return
    columns = {"topic": "TOPIC", "partitions": "PARTITIONS", "replication_factor": "RF", "internal": "INTERNAL"}
    show_rows(rows, columns, empty="no topics yet; `headrace topic create NAME` makes one")


@app.command()
def describe(
    topics: Names,
    all_configs: Annotated[
        bool, typer.Option("--all-configs", help="Show configs that stand at their default too.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show partitions with leader, replicas, in-sync replicas and offsets, and the configs with their source."""
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json
    from headrace.cli.topic.view import describe_topic, show_topic

    async def describe_all(admin: "Admin") -> list[dict[str, Any]]:
        return [await describe_topic(admin, name) for name in topics]

    views = with_admin(bootstrap, describe_all)
    if as_json:
        show_json(views)
        return
    for position, view in enumerate(views):
        print(end="\n" if position else "")
        show_topic(view, all_configs)


@app.command()
def alter(
    topic: TopicName,
    config: Configs = None,
    delete_config: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Back to the broker's default.")
    ] = None,
    partitions: Annotated[int | None, typer.Option(help="The new, larger number of partitions.", min=1)] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Change the configs of a topic, or give it more partitions."""
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json
    from headrace.cli.topic.changes import alter_topic

    changes: dict[str, str | None] = {**parse_pairs(config or (), "--config"), **dict.fromkeys(delete_config or ())}
    if not changes and partitions is None:
        raise Failure(
            "nothing to change", "give --config NAME=VALUE, --delete-config NAME or --partitions N", ExitCode.USAGE
        )
    with_admin(bootstrap, lambda admin: alter_topic(admin, topic, changes, partitions))
    if as_json:
        show_json({"topic": topic, "configs": changes, "partitions": partitions})
    else:
        done = [f"{name} back to default" if value is None else f"{name}={value}" for name, value in changes.items()]
        print(f"altered {topic}: {', '.join([*done, *([f'{partitions} partitions'] if partitions else [])])}")


@app.command()
def delete(
    topics: Names,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Delete topics with all their messages, after showing what would go and asking."""
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json
    from headrace.cli.topic.changes import delete_topics

    if as_json and not yes:
        raise Failure(
            "delete asks before it deletes, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE
        )
    plan = with_admin(bootstrap, lambda admin: delete_topics(admin, topics, yes))
    if as_json:
        show_json(plan)
    else:
        print(f"deleted {', '.join(topics)}")


@app.command("delete-records")
def delete_records_of(
    topic: TopicName,
    before: Annotated[
        str,
        typer.Option(
            "--before",
            metavar="PLACE",
            help="Delete what lies before an offset, a time (@2026-01-31T12:00), the last so many (-10), or latest: all.",
            show_default=False,
        ),
    ],
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", help="Only of these; may be repeated.", min=0)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Delete the oldest messages of a topic up to a place, after showing what would go and asking."""
    from headrace.cli.connection import with_clients
    from headrace.cli.messages.start_at import parse_start
    from headrace.cli.output import count_of, show_json
    from headrace.cli.topic.delete_records import delete_records

    if as_json and not yes:
        raise Failure(
            "delete-records asks before it deletes, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE
        )
    place = parse_start(before, "--before")
    places = with_clients(
        bootstrap, lambda admin, client: delete_records(admin, client, topic, partition or (), place, yes)
    )
    if as_json:
        show_json(places)
    else:
        messages = sum(row["messages"] for row in places)
        print(f"deleted {count_of(messages, 'message')} of {topic}")
