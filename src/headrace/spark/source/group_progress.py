"""A query's progress as offsets of a consumer group, so that every lag tool sees it; and its start, until it has moved.

Only with `kafka.group.id`: groups of random names would fill a cluster. Spark's checkpoint decides where a query goes
on, never the group: committing is for people who look, so a refusal is a warning and not the end of the query.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from headrace.admin.admin import Admin
from headrace.admin.groups import NewCommit, commit
from headrace.admin.lag import committed_by
from headrace.base.bootstrap import parse_bootstrap
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.connection import Disconnected
from headrace.spark.options import login_of
from headrace.spark.source.offsets import Offsets
from headrace.spark.source.options import SourceOptions

# Beside an offset that is where the query begins, not where it has come to.
START = "headrace: start of a query"
# Beside those where it has come to: the admin UI lists groups with either as pipelines.
PROGRESS = "headrace: progress of a query"

logger = logging.getLogger("headrace.spark")


class ProgressGroup(NamedTuple):
    """With an empty id there is none, and nothing is stored."""

    id: str
    bootstrap: str
    security: tuple[tuple[str, str], ...] = ()


def group_of(options: SourceOptions) -> ProgressGroup:
    return ProgressGroup(options.group_id, options.bootstrap, options.security)


async def keep_start(group: ProgressGroup, starts: Mapping[TopicPartition, int]) -> None:
    await _commit(group, {id: NewCommit(offset, START) for id, offset in starts.items()})


async def kept_start(group: ProgressGroup, ids: Iterable[TopicPartition]) -> Offsets | None:
    """The start that an earlier run of this query kept, which died before its first batch was done."""
    if not group.id:
        return None
    committed = await committed_by(_admin(group), group.id)
    if not all(id in committed and committed[id].metadata == START for id in ids):
        return None
    return {id: committed[id].offset for id in ids}


async def commit_progress(group: ProgressGroup, ends: Mapping[TopicPartition, int]) -> None:
    try:
        await _commit(group, {id: NewCommit(offset, PROGRESS) for id, offset in ends.items()})
    except (Refused, Disconnected) as error:
        logger.warning(
            "group %(group)s was not told of the query's progress: %(cause)s", {"group": group.id, "cause": error}
        )


async def _commit(group: ProgressGroup, offsets: Mapping[TopicPartition, NewCommit]) -> None:
    if not group.id or not offsets:
        return
    for id, refused in (await commit(_admin(group), group.id, offsets)).items():
        raise Refused(refused.code, f"group {group.id} does not take an offset of {id}: {refused.message}")


@cache
def _admin(group: ProgressGroup) -> Admin:
    return Admin(parse_bootstrap(group.bootstrap), "headrace-spark", login_of(group.security))
