"""`headrace topic …`: create, list, describe, alter and delete topics through the admin protocol."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, TopicName, parse_pairs

if TYPE_CHECKING:
    from headrace.cli.connection import Connection

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
    from confluent_kafka.admin import NewTopic

    from headrace.cli.connection import Connection, answer
    from headrace.cli.output import count_of, show_json

    configs = parse_pairs(config or (), "--config")
    connection = Connection(bootstrap)
    new = NewTopic(topic, num_partitions=partitions or -1, replication_factor=replication_factor or -1, config=configs)
    answer(connection.admin.create_topics([new])[topic], f"topic {topic} was not created", topic)
    described = connection.describe([topic])[0]
    partitions, copies = len(described.partitions), _replication_factor(described)
    if as_json:
        show_json({"topic": topic, "partitions": partitions, "replication_factor": copies})
    else:
        print(f"created {topic}: {count_of(partitions, 'partition')}, replication factor {copies}")


@app.command("list")
def list_topics(
    internal: Annotated[bool, typer.Option("--internal/--no-internal", help="Show internal topics too.")] = True,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """List the topics."""
    from headrace.cli.connection import Connection
    from headrace.cli.output import show_json, show_rows

    connection = Connection(bootstrap)
    rows = [
        {
            "topic": described.name,
            "partitions": len(described.partitions),
            "replication_factor": _replication_factor(described),
            "internal": described.is_internal,
        }
        for described in connection.describe(connection.topic_names())
        if internal or not described.is_internal
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
    from headrace.cli.connection import Connection
    from headrace.cli.output import show_json
    from headrace.cli.topic.view import describe_topics, show_topic

    views = describe_topics(Connection(bootstrap), topics)
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
    from headrace.cli.connection import Connection
    from headrace.cli.output import show_json

    changes: dict[str, str | None] = {**parse_pairs(config or (), "--config"), **dict.fromkeys(delete_config or ())}
    if not changes and partitions is None:
        raise Failure(
            "nothing to change", "give --config NAME=VALUE, --delete-config NAME or --partitions N", ExitCode.USAGE
        )
    connection = Connection(bootstrap)
    if changes:
        _alter_configs(connection, topic, changes)
    if partitions is not None:
        _add_partitions(connection, topic, partitions)
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
    from headrace.cli.connection import Connection, answer
    from headrace.cli.output import show_json

    if as_json and not yes:
        raise Failure(
            "delete asks before it deletes, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE
        )
    connection = Connection(bootstrap)
    plan = _deletion_plan(connection, topics)
    if not yes:
        _confirm(plan)
    futures = connection.admin.delete_topics(list(topics), operation_timeout=30)
    for topic, future in futures.items():
        answer(future, f"topic {topic} was not deleted", topic)
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
    from headrace.cli.connection import Connection
    from headrace.cli.messages.start_at import parse_start
    from headrace.cli.output import count_of, show_json, show_rows
    from headrace.cli.topic.delete_records import delete_records, deletion_plan

    if as_json and not yes:
        raise Failure(
            "delete-records asks before it deletes, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE
        )
    place = parse_start(before, "--before")
    connection = Connection(bootstrap)
    plan = deletion_plan(connection, topic, partition or (), place)
    messages = sum(row["messages"] for row in plan)
    if not yes:
        show_rows(plan, {"partition": "PARTITION", "start": "START", "then": "THEN", "messages": "MESSAGES"})
        if not typer.confirm(f"Delete {count_of(messages, 'message')} of {topic}? There is no way back."):
            raise Failure("nothing was deleted", "answer y, or add --yes", ExitCode.REFUSED)
    delete_records(connection, plan)
    if as_json:
        show_json(plan)
    else:
        print(f"deleted {count_of(messages, 'message')} of {topic}")


def _alter_configs(connection: "Connection", topic: str, changes: dict[str, str | None]) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    from headrace.cli.connection import answer

    entries = [
        ConfigEntry(
            name,
            value if value is not None else "",
            incremental_operation=AlterConfigOpType.SET if value is not None else AlterConfigOpType.DELETE,
        )
        for name, value in changes.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    answer(connection.admin.incremental_alter_configs([resource])[resource], f"topic {topic} was not altered", topic)


def _add_partitions(connection: "Connection", topic: str, total: int) -> None:
    from confluent_kafka.admin import NewPartitions

    from headrace.cli.connection import answer

    future = connection.admin.create_partitions([NewPartitions(topic, total)])[topic]
    answer(future, f"topic {topic} got no new partitions", topic)


def _deletion_plan(connection: "Connection", topics: list[str]) -> list[dict[str, Any]]:
    plan = []
    for described in connection.describe(topics):
        ranges = connection.offset_ranges((described.name, partition.id) for partition in described.partitions)
        messages = sum((end or 0) - (start or 0) for start, end in ranges.values())
        plan.append({"topic": described.name, "partitions": len(described.partitions), "messages": messages})
    return plan


def _confirm(plan: list[dict[str, Any]]) -> None:
    from headrace.cli.output import count_of, show_rows

    show_rows(plan, {"topic": "TOPIC", "partitions": "PARTITIONS", "messages": "MESSAGES"})
    messages = sum(row["messages"] for row in plan)
    question = f"Delete {count_of(len(plan), 'topic')} with {count_of(messages, 'message')}? There is no way back."
    if not typer.confirm(question):
        raise Failure("nothing was deleted", "answer y, or add --yes", ExitCode.REFUSED)


def _replication_factor(described: Any) -> int:
    return max((len(partition.replicas) for partition in described.partitions), default=0)
