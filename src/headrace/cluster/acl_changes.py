"""Changes of rules (ACLs) as calculations: made once however often they are asked for, and struck off.

Each commit has as many as fit into one, and is whole; those of a large change come one after another.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from headrace.cluster.entities import Acl
from headrace.cluster.image import Image
from headrace.cluster.records import acl_key, encode
from headrace.cluster.store import ABSENT, OPERATIONS_MAX, Commit


def create_acls(image: Image, acls: Iterable[Acl]) -> list[Commit]:
    """The commits that make the rules that are not there yet."""
    wanted = {acl_key(acl): acl for acl in acls}
    fresh = {key: encode(acl) for key, acl in wanted.items() if _known(image, key) is None}
    return [Commit(puts, dict.fromkeys(puts, ABSENT)) for puts in _commit_sized(fresh)]


def delete_acls(image: Image, acls: Iterable[Acl]) -> list[Commit]:
    """The commits that strike off those of the rules that are still there."""
    revisions = {key: known.revision for key in map(acl_key, acls) if (known := _known(image, key)) is not None}
    gone = dict.fromkeys(revisions)
    return [Commit(puts, {key: revisions[key] for key in puts}) for puts in _commit_sized(gone)]


def _known(image: Image, key: str) -> Acl | None:
    return image.acls.get(key.removeprefix("acls/"))


def _commit_sized(puts: Mapping[str, bytes | None]) -> Iterator[dict[str, bytes | None]]:
    left = iter(puts.items())
    while some := dict(islice(left, OPERATIONS_MAX)):
        yield some
