"""`headrace pipeline …`: the built-in Spark jobs. Each command is its function of `headrace.pipelines`, with words to it.

A progress line goes to stderr, the report to stdout; with --json both are JSON.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, TopicName, parse_pairs

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
    allow_data_loss: Annotated[
        bool, typer.Option("--allow-data-loss", help="Go on when retention has deleted records that the table lacks.")
    ] = False,
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
            options=parse_pairs(option or (), "--option"),
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


def _require_spark(*bootstraps: str) -> None:
    """Before anything of it is imported, and before it takes its seconds to start."""
    from headrace.cli.connection import require_reachable
    from headrace.spark.spark_session import check_spark

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
