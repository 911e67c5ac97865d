"""Advice for Kafka's error codes, by their names: what a person can do, in words that hold for every reader.

Edges say the rest in their own words (a command, a path, a call), and come here for whatever they add nothing to.
"""

from collections.abc import Mapping
from typing import Final

from headrace.base import topic_names

_REPLICAS: Final = "start the brokers that are down, or lower min.insync.replicas of the topic"
_TOO_LARGE: Final = "send smaller messages, or raise max.message.bytes of the topic"
_FENCED: Final = (
    "another producer uses this transactional id: give each its own, or let only one run; "
    "or the transaction took longer than transaction.timeout.ms"
)

_ADVICE: Final[Mapping[str, str]] = {
    "INVALID_TOPIC_EXCEPTION": topic_names.RULE,
    "INVALID_PARTITIONS": "partitions can be added, never taken away",
    "INVALID_REPLICATION_FACTOR": "a replication factor is at least 1 and at most the number of live brokers",
    "INVALID_TIMESTAMP": (
        "check the clock, or the topic's message.timestamp.before.max.ms and message.timestamp.after.max.ms"
    ),
    "INVALID_GROUP_ID": "a group's name is not empty",
    "INVALID_PRODUCER_EPOCH": _FENCED,
    "PRODUCER_FENCED": _FENCED,
    "INVALID_TRANSACTION_TIMEOUT": "lower transaction.timeout.ms to what the brokers allow (transaction.max.timeout.ms)",
    "MESSAGE_TOO_LARGE": _TOO_LARGE,
    "RECORD_LIST_TOO_LARGE": _TOO_LARGE,
    "NOT_ENOUGH_REPLICAS": _REPLICAS,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": _REPLICAS,
    "KAFKA_STORAGE_ERROR": "look at the broker's disk: it may be full, and the broker's log says what is wrong with it",
    "NON_EMPTY_GROUP": "stop its members first",
    "FENCED_INSTANCE_ID": "another member has this group.instance.id: give each its own",
    "GROUP_MAX_SIZE_REACHED": "let fewer members join, or raise group.max.size of the brokers",
    "INCONSISTENT_GROUP_PROTOCOL": "the members of a group share partition.assignment.strategy",
    "TOPIC_DELETION_DISABLED": "start the brokers with delete.topic.enable=true",
    "POLICY_VIOLATION": "ask whoever runs the cluster for its rules",
    "TOPIC_AUTHORIZATION_FAILED": "ask for an ACL on the topic",
    "GROUP_AUTHORIZATION_FAILED": "ask for an ACL on the group",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "ask for an ACL on the transactional id",
    "CLUSTER_AUTHORIZATION_FAILED": "ask for this right on the cluster",
}


def advice(code: str) -> str:
    """The advice for a code by Kafka's name for it; empty where there is none."""
    return _ADVICE.get(code, "")
