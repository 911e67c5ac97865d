"""`headrace pipeline …`: the built-in Spark jobs. Each command is its function of `headrace.pipelines`, with words to it.

A progress line goes to stderr, the report to stdout; with --json both are JSON.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headrace.cli.client_file import pairs_of_settings, security_settings, settings_of_file
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, TopicName
from headrace.client.property_names import security_only

if TYPE_CHECKING:
    from headrace.pipelines.progress import Listener

app = typer.Typer(
    help="Built-in Spark jobs: topics to tables and back, statistics, mirrors, clean-up, SQL.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Master = Annotated[
    str, typer.Option("--master", help="Where Spark runs: local[*], cluster:N, spark://HOST:PORT, sc://HOST:PORT.")
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="A Kafka client setting (security.protocol=…); may be repeated."
    ),
]
AllowLoss = Annotated[
    bool, typer.Option("--allow-data-loss", help="Go on when retention has deleted records that were not read yet.")
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until interrupted.")]


@app.command()
def lake(
    topic: TopicName,
    to: Annotated[Path, typer.Option("--to", metavar="PATH", help="The table's folder; made if it is not there.")],
    format: Annotated[
        Literal["iceberg", "delta", "parquet"], typer.Option(help="Of a new table; one that is there keeps its own.")
    ] = "iceberg",
    decode: Annotated[
        Literal["auto", "none", "json", "avro", "avro-framed"],
        typer.Option(help="What values are; auto looks at the first ones. The raw value is always kept."),
    ] = "auto",
    schema: Annotated[Path | None, typer.Option(help="The Avro schema of the values.")] = None,
    follow: Follow = False,
    batch_rows: Annotated[int, typer.Option(min=1, help="Rows in a commit, about.")] = 2_000_000,
    allow_data_loss: AllowLoss = False,
    forget_hours: Annotated[
        float, typer.Option(min=0, help="Delete versions and left-over files that are older than this.")
    ] = 24.0,
    master: Master = "local[*]",
    option: Options = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """A topic as an Iceberg or Delta table or a folder of Parquet, each record once; run it again to go on."""
    _require_spark(bootstrap)
    from headrace.pipelines.lake import lake as run

    _report(
        lambda listener: run(
            topic,
            to,
            bootstrap=bootstrap,
            options=_options(option),
            format=format,
            decode=decode,
            schema_file=schema,
            follow=follow,
            batch_rows=batch_rows,
            allow_data_loss=allow_data_loss,
            forget_hours=forget_hours,
            master=master,
            on_progress=listener,
        ),
        as_json,
    )


@app.command()
def replay(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A table that `pipeline lake` made.")],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="Made if it is not there.")],
    name: Annotated[str, typer.Option(help="Another name replays the table once more.")] = "replay",
    batch_rows: Annotated[int, typer.Option(min=1, help="Rows in a batch, about.")] = 1_000_000,
    master: Master = "local[*]",
    option: Options = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """A table back to a topic: every row to its partition with key, headers and time, once."""
    _require_spark(bootstrap)
    from headrace.pipelines.replay import replay as run

    settings = _options(option)
    _report(
        lambda listener: run(
            path,
            to,
            bootstrap=bootstrap,
            options=settings,
            name=name,
            batch_rows=batch_rows,
            master=master,
            on_progress=listener,
        ),
        as_json,
    )


@app.command()
def mirror(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC…", show_default=False)],
    source: Annotated[str, typer.Option("--from", metavar="HOST:PORT,…", help="Brokers of the cluster to read.")],
    target: Annotated[str, typer.Option("--to", metavar="HOST:PORT,…", help="Brokers of the cluster to write.")],
    prefix: Annotated[str, typer.Option(help="Put before the names of the copies.")] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", help="Give this group its place on the target; may be repeated.")
    ] = None,
    follow: Follow = False,
    batch_rows: Annotated[int, typer.Option(min=1, help="Rows in a batch, about.")] = 500_000,
    allow_data_loss: AllowLoss = False,
    source_option: Annotated[
        list[str] | None, typer.Option("--from-option", metavar="NAME=VALUE", help="A client setting of the source.")
    ] = None,
    target_option: Annotated[
        list[str] | None, typer.Option("--to-option", metavar="NAME=VALUE", help="A client setting of the target.")
    ] = None,
    source_config: Annotated[
        str, typer.Option("--from-config", metavar="FILE", help="Client settings of the source, as --client-config.")
    ] = "",
    target_config: Annotated[
        str, typer.Option("--to-config", metavar="FILE", help="Client settings of the target.")
    ] = "",
    master: Master = "local[*]",
    as_json: AsJson = False,
) -> None:
    """Topics of one cluster into another, each record once, offsets mapped; run it again to go on."""
    source_settings, target_settings = (
        security_only(settings_of_file(path)) if path else {} for path in (source_config, target_config)
    )
    _require_spark(source, target)
    from headrace.pipelines.mirror import mirror as run

    _report(
        lambda listener: run(
            source,
            target,
            topics,
            source_options=source_settings | pairs_of_settings(source_option, "--from-option"),
            target_options=target_settings | pairs_of_settings(target_option, "--to-option"),
            prefix=prefix,
            groups=group or (),
            follow=follow,
            batch_rows=batch_rows,
            allow_data_loss=allow_data_loss,
            master=master,
            on_progress=listener,
        ),
        as_json,
    )


@app.command()
def traffic(
    topic: TopicName,
    window: Annotated[
        int | None, typer.Option(min=1, help="Seconds in a window; 60 windows or less if not given.")
    ] = None,
    event_time: Annotated[
        str | None, typer.Option(metavar="FIELD", help="A time in JSON values (ms or ISO 8601) to measure delays from.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE.parquet", help="Write the windows there.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw them; .svg too.")] = None,
    master: Master = "local[*]",
    option: Options = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Traffic of a topic: rates, sizes, gaps and delays in windows of time, hot keys, skew of partitions."""
    _require_spark(bootstrap)
    from headrace.cli.output import show_fields, show_json, show_rows
    from headrace.pipelines.failure import in_plain_words
    from headrace.pipelines.progress import one_line
    from headrace.pipelines.traffic import traffic as run

    with in_plain_words(), one_line(as_json) as listener:
        report = run(
            topic,
            bootstrap=bootstrap,
            options=_options(option),
            window_seconds=window,
            event_time=event_time,
            to=to,
            picture=picture,
            master=master,
            on_progress=listener,
        )
    if as_json:
        show_json(report._asdict())
        return
    for title, rows in (("windows", report.windows), ("partitions", report.partitions), ("hot keys", report.hot_keys)):
        print(f"{title}:")
        show_rows(rows, {name: name.replace("_", " ") for name in (rows[0] if rows else {})}, empty="none")
    show_fields({"topic": topic, "rows": report.rows, "bytes": report.bytes, "skew": report.skew})


@app.command()
def clean(
    topic: TopicName,
    schema: Annotated[Path, typer.Option(help="A JSON Schema, or an Avro schema with --schema-kind.")],
    schema_kind: Annotated[Literal["json", "avro", "avro-framed"], typer.Option(help="What the schema is.")] = "json",
    good: Annotated[str | None, typer.Option(metavar="TOPIC", help="For what fits; TOPIC.clean if not given.")] = None,
    bad: Annotated[str | None, typer.Option(metavar="TOPIC", help="For the rest; TOPIC.dead if not given.")] = None,
    join: Annotated[Path | None, typer.Option(metavar="FILE", help="A .parquet, .csv or .json to enrich from.")] = None,
    on: Annotated[str, typer.Option(metavar="FIELD", help="The field, and the column, to join on.")] = "",
    follow: Follow = False,
    batch_rows: Annotated[int, typer.Option(min=1, help="Rows in a batch, about.")] = 200_000,
    allow_data_loss: AllowLoss = False,
    master: Master = "local[*]",
    option: Options = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Sort a topic by a schema: good records, enriched, to one topic, bad ones with the reason to another, each once."""
    _require_spark(bootstrap)
    from headrace.pipelines.clean import clean as run

    _report(
        lambda listener: run(
            topic,
            schema,
            schema_kind=schema_kind,
            good=good,
            bad=bad,
            join=join,
            on=on,
            bootstrap=bootstrap,
            options=_options(option),
            follow=follow,
            batch_rows=batch_rows,
            allow_data_loss=allow_data_loss,
            master=master,
            on_progress=listener,
        ),
        as_json,
    )


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Topics are tables: select count(*) from orders.")],
    limit: Annotated[int, typer.Option(min=1, help="Rows to show at most.")] = 1000,
    to: Annotated[Path | None, typer.Option("--to", metavar="PATH", help="Write Parquet files there instead.")] = None,
    master: Master = "local[*]",
    option: Options = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """A query over topics, which are tables here; fields of JSON values are columns."""
    _require_spark(bootstrap)
    from headrace.cli.output import remark, show_json, show_rows
    from headrace.pipelines.failure import in_plain_words
    from headrace.pipelines.sql import sql as run
    from headrace.pipelines.sql import text_of

    with in_plain_words():
        found = run(query, bootstrap=bootstrap, options=_options(option), master=master)
        if to is not None:
            found.write.mode("error").parquet(str(to))
            return
        rows = [{name: text_of(value) for name, value in row.asDict(True).items()} for row in found.take(limit + 1)]
    if as_json:
        show_json(rows[:limit])
    else:
        show_rows(rows[:limit], {name: name for name in found.columns}, empty="no rows")
    if len(rows) > limit:
        remark(f"and more: --limit shows more than {limit:,}, --to PATH writes all")


def _options(pairs: list[str] | None) -> dict[str, str]:
    """The client settings of a job: those of --client-config, and what the command line adds."""
    return security_settings() | pairs_of_settings(pairs, "--option")


def _require_spark(*bootstraps: str) -> None:
    """Before anything of it is imported, and before it takes its seconds to start."""
    from headrace.cli.reachable import require_reachable
    from headrace.spark.sessions.spark_session import check_spark

    check_spark()
    for bootstrap in bootstraps:
        require_reachable(bootstrap)


def _report(run: "Callable[[Listener], Any]", as_json: bool) -> None:
    from headrace.cli.output import show_fields, show_json
    from headrace.pipelines.failure import in_plain_words
    from headrace.pipelines.progress import one_line
    from headrace.pipelines.report import lines_of

    with in_plain_words(), one_line(as_json) as listener:
        report = run(listener)
    if as_json:
        show_json(report._asdict())
    else:
        show_fields(lines_of(report))
