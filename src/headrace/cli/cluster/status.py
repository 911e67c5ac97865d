"""The tables of `cluster status`: every broker, and every partition that is not as it should be."""

from typing import Any

from headrace.admin.status import replica_lag, status_of
from headrace.admin.survey import PartitionSeen, Survey
from headrace.base.units import size_text
from headrace.cli.output import count_of, show_fields, show_rows

ROWS_MAX = 50


def show_status(seen: Survey) -> None:
    status = status_of(seen)
    show_fields({"cluster": status["cluster_id"], "controller": status["controller"]})
    print()
    _show_brokers(status["brokers"])
    print()
    print(summary(seen))
    troubled = [each for each in seen.partitions.values() if _trouble(each)]
    if troubled:
        print()
        _show_partitions(troubled[:ROWS_MAX], seen)
        if len(troubled) > ROWS_MAX:
            print(f"\nand {count_of(len(troubled) - ROWS_MAX, 'partition')} more; --json lists all")
    if status["not_led_by_preferred"]:
        others = count_of(status["not_led_by_preferred"], "partition")
        print(f"\n{others} led by another than the preferred replica; `headrace cluster elect` gives leadership back")


def summary(seen: Survey) -> str:
    partitions = list(seen.partitions.values())
    parts = [count_of(len(partitions), "partition")]
    for count, words in (
        (sum(each.leader is None for each in partitions), "offline"),
        (sum(each.is_under_replicated for each in partitions), "under-replicated"),
        (sum(each.is_moving for each in partitions), "moving"),
    ):
        if count:
            parts.append(f"{count:,} {words}")
    if len(parts) == 1:
        parts.append("each with a leader and all replicas in sync")
    return ", ".join(parts)


def _show_brokers(brokers: list[dict[str, Any]]) -> None:
    rows = [
        {
            **broker,
            "state": ("alive, controls" if broker["controller"] else "alive") if broker["alive"] else "dead",
            "size": size_text(broker["bytes"]) if broker["alive"] else None,
            "free": size_text(broker["free_bytes"]) if broker["free_bytes"] is not None else None,
        }
        for broker in brokers
    ]
    columns = {
        "broker": "BROKER",
        "address": "ADDRESS",
        "rack": "RACK",
        "state": "STATE",
        "leads": "LEADS",
        "replicas": "REPLICAS",
        "in_sync": "IN SYNC",
        "size": "SIZE",
        "free": "FREE",
    }
    if not any(row["rack"] for row in rows):
        del columns["rack"]
    show_rows(rows, columns)


def _trouble(each: PartitionSeen) -> str:
    words = []
    if each.leader is None:
        words.append("offline")
    elif each.is_under_replicated:
        words.append("under-replicated")
    if each.is_moving:
        words.append(f"moving {_ids(each.removing)} → {_ids(each.adding)}")
    return ", ".join(words)


def _ids(replicas: tuple[int, ...]) -> str:
    return ",".join(map(str, replicas)) or "-"


def _show_partitions(partitions: list[PartitionSeen], seen: Survey) -> None:
    rows = [
        {
            "partition": str(each.id),
            "state": _trouble(each),
            "leader": each.leader,
            "replicas": each.replicas,
            "isr": each.isr,
            "lag": "; ".join(_lag_text(each, replica, seen) for replica in each.replicas if replica not in each.isr),
        }
        for each in partitions
    ]
    columns = {"partition": "PARTITION", "state": "STATE", "leader": "LEADER", "replicas": "REPLICAS", "isr": "ISR"}
    show_rows(rows, {**columns, "lag": "BEHIND"})


def _lag_text(each: PartitionSeen, replica: int, seen: Survey) -> str:
    if replica not in seen.brokers or not seen.brokers[replica].is_alive:
        return f"{replica}: dead"
    lag = replica_lag(each, replica)
    return f"{replica}: unknown" if lag is None else f"{replica}: {lag:,} offsets"
