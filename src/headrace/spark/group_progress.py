"""A query's progress as offsets of a consumer group, so that every lag tool sees it; and its start, until it has moved.

Only with `kafka.group.id`: groups of random names would fill a cluster. Spark's checkpoint decides where a query goes
on, never the group: committing is for people who look, so a refusal is a warning and not the end of the query.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import cache

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.admin import Admin
from headrace.client.connection import Disconnected
from headrace.client.groups import NewCommit, commit
from headrace.client.lag import committed_by
from headrace.client.peer import parse_bootstrap
from headrace.client.security import security_from
from headrace.spark.offsets import Offsets
from headrace.spark.source_options import SourceOptions

# Beside an offset that is where the query begins, not where it has come to.
START = "headrace: start of a query"

log = logging.getLogger("headrace.spark")


async def keep_start(options: SourceOptions, starts: Mapping[TopicPartition, int]) -> None:
    await _commit(options, {id: NewCommit(offset, START) for id, offset in starts.items()})


async def kept_start(options: SourceOptions, ids: Iterable[TopicPartition]) -> Offsets | None:
    """What was kept by a run of this query that died before its first batch was done."""
    if not options.group_id:
        return None
    committed = await committed_by(_admin(options.bootstrap, options.security), options.group_id)
    if not all(id in committed and committed[id].metadata == START for id in ids):
        return None
    return {id: committed[id].offset for id in ids}


async def commit_progress(options: SourceOptions, ends: Mapping[TopicPartition, int]) -> None:
    try:
        await _commit(options, {id: NewCommit(offset) for id, offset in ends.items()})
    except (Refused, Disconnected) as error:
        log.warning("group %s was not told of the query's progress: %s", options.group_id, error)


async def _commit(options: SourceOptions, offsets: Mapping[TopicPartition, NewCommit]) -> None:
    if not options.group_id or not offsets:
        return
    admin = _admin(options.bootstrap, options.security)
    for id, refused in (await commit(admin, options.group_id, offsets)).items():
        raise Refused(refused.code, f"group {options.group_id} does not take an offset of {id}: {refused.message}")


@cache
def _admin(bootstrap: str, security: tuple[tuple[str, str], ...]) -> Admin:
    return Admin(parse_bootstrap(bootstrap), "headrace-spark", security_from(dict(security)))
