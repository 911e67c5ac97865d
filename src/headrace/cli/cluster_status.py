"""What `cluster status` shows: every broker, and every partition that is not as it should be."""

from typing import Any

from headrace.cli.output import count_of, show_fields, show_rows, size_of
from headrace.client.survey import BrokerSeen, PartitionSeen, Survey

ROWS_MAX = 50


def status_of(seen: Survey) -> dict[str, Any]:
    """As plain values: the JSON form."""
    partitions = list(seen.partitions.values())
    return {
        "cluster_id": seen.cluster_id,
        "controller": seen.controller,
        "brokers": [_broker(broker, seen) for broker in seen.brokers.values()],
        "partitions": len(partitions),
        "offline": [_partition(each, seen) for each in partitions if each.leader is None],
        "under_replicated": [_partition(each, seen) for each in partitions if each.is_under_replicated],
        "reassignments": [_partition(each, seen) for each in partitions if each.is_moving],
        "not_led_by_preferred": sum(_is_off_preferred(each) for each in partitions),
    }


def _broker(broker: BrokerSeen, seen: Survey) -> dict[str, Any]:
    hosted = [each for each in seen.partitions.values() if broker.id in each.replicas]
    return {
        "broker": broker.id,
        "address": f"{broker.host}:{broker.port}",
        "rack": broker.rack or None,
        "alive": broker.is_alive,
        "controller": broker.id == seen.controller,
        "leads": sum(each.leader == broker.id for each in hosted),
        "replicas": len(hosted),
        "in_sync": sum(broker.id in each.isr for each in hosted),
        "bytes": sum(each.held[broker.id].size_bytes for each in hosted if broker.id in each.held),
        "free_bytes": broker.free_bytes,
    }


def _partition(each: PartitionSeen, seen: Survey) -> dict[str, Any]:
    return {
        "topic": each.id.topic,
        "partition": each.id.partition,
        "leader": each.leader,
        "replicas": list(each.replicas),
        "isr": list(each.isr),
        "adding": list(each.adding),
        "removing": list(each.removing),
        "lag": {str(replica): _lag(each, replica, seen) for replica in each.replicas if replica not in each.isr},
    }


def _lag(each: PartitionSeen, replica: int, seen: Survey) -> int | None:
    """Offsets behind; None when nobody can say: the broker is dead, or its copy has not begun."""
    held = each.held.get(replica)
    return None if held is None else held.lag


def _is_off_preferred(each: PartitionSeen) -> bool:
    return each.leader is not None and not each.is_moving and each.leader != each.replicas[0]


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
            "size": size_of(broker["bytes"]) if broker["alive"] else None,
            "free": size_of(broker["free_bytes"]) if broker["free_bytes"] is not None else None,
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
    lag = _lag(each, replica, seen)
    return f"{replica}: unknown" if lag is None else f"{replica}: {lag:,} offsets"
