"""The state of a cluster, from a survey, as plain values: every broker, and every partition that is not as it should be."""

from typing import Any

from headrace.admin.survey import BrokerSeen, PartitionSeen, Survey


def status_of(seen: Survey) -> dict[str, Any]:
    partitions = list(seen.partitions.values())
    return {
        "cluster_id": seen.cluster_id,
        "controller": seen.controller,
        "brokers": [broker_view(broker, seen) for broker in seen.brokers.values()],
        "partitions": len(partitions),
        "offline": [_partition(each) for each in partitions if each.leader is None],
        "under_replicated": [_partition(each) for each in partitions if each.is_under_replicated],
        "reassignments": [_partition(each) for each in partitions if each.is_moving],
        "not_led_by_preferred": sum(_is_off_preferred(each) for each in partitions),
    }


def broker_view(broker: BrokerSeen, seen: Survey) -> dict[str, Any]:
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


def _partition(each: PartitionSeen) -> dict[str, Any]:
    return {
        "topic": each.id.topic,
        "partition": each.id.partition,
        "leader": each.leader,
        "replicas": list(each.replicas),
        "isr": list(each.isr),
        "adding": list(each.adding),
        "removing": list(each.removing),
        "lag": {str(replica): replica_lag(each, replica) for replica in each.replicas if replica not in each.isr},
    }


def replica_lag(each: PartitionSeen, replica: int) -> int | None:
    """Offsets behind; None when nobody can say: the broker is dead, or its copy has not begun."""
    held = each.held.get(replica)
    return None if held is None else held.lag


def _is_off_preferred(each: PartitionSeen) -> bool:
    return each.leader is not None and not each.is_moving and each.leader != each.replicas[0]
