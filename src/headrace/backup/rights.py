"""Rights that a backup or a restore needs, looked at before anything is copied or made.

A cluster with rules leaves out of its lists what somebody may not see: without this look a backup would be a part, and say
that it is whole. So who lacks a right is refused, and told which.
"""

from collections.abc import Collection
from typing import Final

from headrace.admin.admin import Admin, check
from headrace.base.errors import UserError
from headrace.cluster.entities import INTERNAL_TOPICS
from headrace.security.operations import Operation
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import DescribeClusterRequest, DescribeClusterResponse
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

_OF_BACKUP: Final = (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
_OF_TOPICS: Final = (Operation.READ, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
FIX: Final = "docs/backup.md says which rules it needs; an administrator gives them (`headrace acl allow`)"


async def require_rights_to_save(admin: Admin, topics: Collection[str], *, with_access: bool) -> None:
    """UserError unless whoever asks may see and read all that a backup of these topics, or of all, holds."""
    missing = await _missing_on_cluster(admin, (*_OF_BACKUP, Operation.ALTER) if with_access else _OF_BACKUP)
    # What it may not see of topics only the disks tell, and they only who may describe the cluster.
    if not missing:
        missing = await _missing_on_topics(admin, topics)
    if missing:
        hint = "; --no-users leaves users and rules out" if any("alter" in each for each in missing) else ""
        raise UserError(f"this login may not back the cluster up: it lacks {', '.join(missing)}", f"{FIX}{hint}")


async def require_rights_to_restore_access(admin: Admin) -> None:
    if missing := await _missing_on_cluster(admin, (Operation.ALTER,)):
        raise UserError(
            f"this login may not restore users and rules: it lacks {', '.join(missing)}",
            "restore as an administrator, or leave them alone with --no-users",
        )


async def _missing_on_cluster(admin: Admin, operations: Collection[Operation]) -> list[str]:
    """Operations that are not allowed, in words; without rules all are."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    described = await admin.ask(request, DescribeClusterResponse)
    check(described.error_code, described.error_message)
    words = [_word(each) for each in operations if not described.cluster_authorized_operations & (1 << each)]
    return [f"{', '.join(words)} on the cluster"] if words else []


async def _missing_on_topics(admin: Admin, topics: Collection[str]) -> list[str]:
    there = set(topics) or await _on_disks(admin)
    asked = [MetadataRequestTopic(name=name) for name in sorted(there - INTERNAL_TOPICS)]
    request = MetadataRequest(asked, allow_auto_topic_creation=False, include_topic_authorized_operations=True)
    seen = (await admin.ask(request, MetadataResponse)).topics if asked else []
    missing = []
    for topic in seen:
        allowed = 0 if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED else topic.topic_authorized_operations
        words = [_word(each) for each in _OF_TOPICS if not allowed & (1 << each)]
        # One that was deleted just now is nobody's to see.
        if words and topic.error_code in (0, ErrorCode.TOPIC_AUTHORIZATION_FAILED):
            missing.append(f"{', '.join(words)} on topic {topic.name}")
    return missing


async def _on_disks(admin: Admin) -> set[str]:
    alive = [each.broker_id for each in (await admin.describe_cluster()).brokers if not each.is_fenced]
    found = [each for id in alive for each in (await admin.log_dirs(id)).results]
    return {topic.name for directory in found for topic in directory.topics}


def _word(operation: Operation) -> str:
    return operation.name.lower().replace("_", "-")
