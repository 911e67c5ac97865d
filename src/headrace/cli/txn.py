"""`headrace txn …`: list and describe transactions, find those that hang, and abort one that does."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap

if TYPE_CHECKING:
    from headrace.admin.admin import Admin
    from headrace.admin.transactions import OpenTransaction

app = typer.Typer(help="List, describe and repair transactions.", no_args_is_help=True, rich_markup_mode=None)

# Longer than any transaction may take, unless transaction.max.timeout.ms was raised.
IDLE_SECONDS = 15 * 60

Topics = Annotated[list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only this one; may be repeated.")]
IdleSeconds = Annotated[
    int, typer.Option("--idle-seconds", min=0, help="Silent for so long; no shorter than your longest time-out.")
]


@app.command("list")
def list_transactions(
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="Ongoing, Empty, CompleteCommit, …; may be repeated.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """List the transactional ids with their coordinator, producer id and state."""
    from headrace.admin import transactions
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_json, show_rows

    listed = with_admin(bootstrap, lambda admin: transactions.list_transactions(admin, state or ()))
    rows = [
        {
            "id": each.transactional_id,
            "state": each.state,
            "producer": each.producer_id,
            "coordinator": each.coordinator,
        }
        for each in listed
    ]
    if as_json:
        show_json(rows)
        return
    columns = {"id": "TRANSACTIONAL ID", "state": "STATE", "producer": "PRODUCER ID", "coordinator": "COORDINATOR"}
    show_rows(rows, columns, empty="no transactions; a producer with a transactional.id makes one")


@app.command()
def describe(
    transactional_id: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show the state, the producer and the partitions of one transactional id."""
    from headrace.cli.connection import with_admin
    from headrace.cli.output import show_fields, show_json

    coordinator, found = with_admin(bootstrap, lambda admin: _described(admin, transactional_id))
    running = found.transaction_start_time_ms
    view: dict[str, Any] = {
        "id": transactional_id,
        "state": found.transaction_state,
        "coordinator": coordinator,
        "producer": found.producer_id,
        "epoch": found.producer_epoch,
        "timeout_ms": found.transaction_timeout_ms,
        "running_ms": None if running < 0 else max(0, int(time.time() * 1000) - running),
        "partitions": [f"{topic.topic}-{index}" for topic in found.topics for index in topic.partitions],
    }
    if as_json:
        show_json(view)
    else:
        show_fields(view)


async def _described(admin: "Admin", transactional_id: str) -> Any:
    from headrace.admin.transactions import describe_transaction
    from headrace.base.errors import Refused
    from headrace.wire.codes import ErrorCode

    try:
        return await describe_transaction(admin, transactional_id)
    except Refused as refusal:
        if refusal.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise
    raise Failure(
        f"there is no transactional id {transactional_id}", "`headrace txn list` shows them", ExitCode.NOT_FOUND
    )


@app.command("find-hanging")
def find_hanging(
    topic: Topics = None,
    idle_seconds: IdleSeconds = IDLE_SECONDS,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show transactions that partitions wait for and no coordinator will end."""
    from headrace.cli.output import show_json, show_rows

    rows = [_row(each) for each in _hanging(bootstrap, topic, idle_seconds)]
    if as_json:
        show_json(rows)
        return
    columns = {
        "partition": "PARTITION",
        "start_offset": "START OFFSET",
        "producer": "PRODUCER ID",
        "epoch": "EPOCH",
        "idle_seconds": "IDLE S",
    }
    show_rows(rows, columns, empty="no transaction hangs")


def _hanging(bootstrap: str, topics: list[str] | None, idle_seconds: int) -> "list[OpenTransaction]":
    from headrace.admin.transactions import hanging_transactions
    from headrace.cli.connection import with_admin

    now_ms = int(time.time() * 1000)
    return with_admin(bootstrap, lambda admin: hanging_transactions(admin, topics, idle_seconds * 1000, now_ms))


def _row(each: "OpenTransaction") -> dict[str, Any]:
    return {
        "partition": str(each.partition),
        "start_offset": each.start_offset,
        "producer": each.producer.producer_id,
        "epoch": each.producer.producer_epoch,
        "idle_seconds": max(0, int(time.time() - each.producer.last_timestamp / 1000)),
    }


@app.command()
def abort(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)],
    partition: Annotated[int, typer.Argument(metavar="PARTITION", min=0, show_default=False)],
    start_offset: Annotated[int, typer.Option(min=0, help="Of the transaction, as find-hanging shows it.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also one that its coordinator knows; its producer may be alive.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Abort a transaction that hangs in one partition, so that its readers go on. Its records are never shown."""
    from headrace.admin.transactions import abort_transaction, open_transactions
    from headrace.cli.connection import with_admin
    from headrace.cli.output import remark, show_json

    if force:
        found = with_admin(bootstrap, lambda admin: open_transactions(admin, [topic]))
    else:
        found = _hanging(bootstrap, [topic], 0)
    chosen = [each for each in found if each.partition == (topic, partition) and each.start_offset == start_offset]
    if not chosen:
        raise Failure(
            f"no transaction that hangs begins at offset {start_offset} of {topic}-{partition}",
            f"`headrace txn find-hanging --topic {topic} --idle-seconds 0` shows them; --force takes a live one",
            ExitCode.NOT_FOUND,
        )
    with_admin(bootstrap, lambda admin: abort_transaction(admin, chosen[0]))
    if as_json:
        show_json(_row(chosen[0]))
    else:
        remark(f"aborted: producer {chosen[0].producer.producer_id} in {topic}-{partition}")
