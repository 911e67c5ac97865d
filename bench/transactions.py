"""Transactions on three brokers: small ones, ones of 100 ms, and what reading only committed records costs.

`fsync` is that of the topic and of `__transaction_state`: both peers keep there what they promise.
"""

from collections.abc import Callable

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from bench.scenarios import Figures, Scenario, Stage
from bench.topics import FSYNC_OFF, FSYNC_ON, topic
from bench.workload import BULK_1K

PRODUCERS = (1, 16)
PARTITIONS = 6
HOLD_MS = 100
_LOG_OF_TRANSACTIONS = "__transaction_state"
_SECONDS = 5.0
_BULK_SECONDS = 6.0


def _play(fsync: bool, producers: int) -> Callable[[Stage], Figures]:
    def play(stage: Stage) -> Figures:
        with topic(stage.broker, PARTITIONS, fsync, copies=3) as name:
            shape = {"topic": name, "partitions": PARTITIONS, "producers": producers}
            # One transaction first, so that the internal topic is there to be set.
            stage.run("transact", {**shape, "producers": 1, "size": 100, "seconds": 0, "name": f"{name}-first"}, {})
            _set_fsync(stage, fsync)
            seconds = _SECONDS * stage.scale
            small = stage.run(
                "transact", {**shape, "size": 100, "seconds": seconds, "name": f"{name}-small"}, {"linger.ms": 0}
            )
            large = stage.run(
                "transact",
                {**shape, "size": 1000, "seconds": seconds, "hold_ms": HOLD_MS, "name": f"{name}-large"},
                {"linger.ms": 5, "batch.size": 1_000_000, "queue.buffering.max.messages": 100_000},
            )
        return {"commits_per_s": small["commits_per_s"], "mb_per_s": large["mb_per_s"]}

    return play


def _set_fsync(stage: Stage, fsync: bool) -> None:
    admin = AdminClient({"bootstrap.servers": stage.broker.bootstrap})
    value = FSYNC_ON if fsync else FSYNC_OFF
    entry = ConfigEntry("flush.messages", value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, _LOG_OF_TRANSACTIONS, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([resource], request_timeout=30).values():
        done.result()


def _read_committed(stage: Stage) -> Figures:
    """One broker, a topic full of transactions of 100 ms, read twice."""
    load = BULK_1K
    with topic(stage.broker, load.partitions, fsync=False) as name:
        shape = {"topic": name, "partitions": load.partitions, "producers": 4, "size": load.size}
        written = stage.run(
            "transact",
            {**shape, "seconds": _BULK_SECONDS * stage.scale, "hold_ms": HOLD_MS, "name": f"{name}-bulk"},
            {"linger.ms": 5, "batch.size": 1_000_000, "queue.buffering.max.messages": 100_000},
        )
        options: dict[str, object] = {"topic": name, "partitions": load.partitions, "records": written["records"]}
        rates: dict[str, float] = {}
        for level in ("read_uncommitted", "read_committed", "read_uncommitted", "read_committed"):
            read = stage.run("consume", options, {**load.consumer(), "isolation.level": level})
            rates[level] = max(rates.get(level, 0.0), read["mb_per_s"])
    return {
        "committed_mb_per_s": rates["read_committed"],
        "share": rates["read_committed"] / rates["read_uncommitted"],
    }


def _all() -> list[Scenario]:
    found = [Scenario("txn-read", _read_committed)]
    for fsync, suffix in ((False, ""), (True, "-fsync")):
        for producers in PRODUCERS:
            found.append(Scenario(f"txn-{producers}{suffix}", _play(fsync, producers), brokers=3))
    return found


TRANSACTION_SCENARIOS = _all()
