"""`headrace spark`: a PySpark shell in which topics are tables; a script or one line of code with --file and -c."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.client_file import pairs_of_settings, security_settings
from headrace.cli.options import DEFAULT_BOOTSTRAP, Bootstrap
from headrace.cli.pipeline import Master, Options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark(
    code: Annotated[str | None, typer.Option("-c", metavar="CODE", help="Run this and end.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Run this script and end.", exists=True)] = None,
    master: Master = "local[*]",
    option: Options = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """A PySpark shell: `spark` is the session, and every topic is a view for `spark.sql`."""
    from headrace.cli.reachable import require_reachable
    from headrace.spark.sessions.spark_session import check_spark

    check_spark()
    require_reachable(bootstrap)
    from headrace.pipelines.failure import in_plain_words
    from headrace.pipelines.kafka import Kafka
    from headrace.pipelines.sql import session_with_topics

    with in_plain_words():
        options = security_settings() | pairs_of_settings(option, "--option")
        session = session_with_topics(bootstrap, options=options, master=master)
        names = _names(session, Kafka(bootstrap, options).source_options())
        if code is not None or file is not None:
            exec(compile(code if code is not None else _text(file), str(file or "-c"), "exec"), names)
            return
    _interact(names, session)


def _names(session: "SparkSession", options: Mapping[str, str]) -> dict[str, Any]:
    from pyspark.sql import functions

    def topic(name: str) -> Any:
        """A topic as a DataFrame."""
        return session.read.format("headrace").options(**{**options, "subscribe": name}).load()

    def stream(name: str) -> Any:
        """A topic as a streaming DataFrame, from its beginning."""
        chosen = {**options, "subscribe": name, "startingOffsets": "earliest"}
        return session.readStream.format("headrace").options(**chosen).load()

    return {"__name__": "__main__", "spark": session, "F": functions, "topic": topic, "stream": stream}


def _text(file: Path | None) -> str:
    return file.read_text() if file is not None else ""


def _interact(names: dict[str, Any], session: "SparkSession") -> None:
    views = ", ".join(row.viewName for row in session.sql("show views").collect()) or "none yet"
    banner = (
        f"Spark {session.version}. `spark` is the session, `topic(name)` and `stream(name)` read a topic.\n"
        f"Topics as views: {views}\n"
        'For example: spark.sql("select * from TOPIC").show()'
    )
    try:
        from IPython import start_ipython  # type: ignore[import-not-found]
    except ImportError:
        import code

        if sys.stdin.isatty():
            import readline  # noqa: F401  # for its effect: lines can be edited
        code.interact(banner, local=names, exitmsg="")
        return
    print(banner)
    start_ipython(argv=["--no-banner"], user_ns=names)
