"""Features that brokers and clients agree on: the levels there are, the cluster's level, and how it changes."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from headrace.base.errors import Refused
from headrace.cluster.entities import Features
from headrace.cluster.image import Image
from headrace.cluster.records import FEATURES, encode
from headrace.cluster.store import ABSENT, Commit
from headrace.wire.codes import ErrorCode


class Feature(NamedTuple):
    name: str
    lowest: int
    highest: int


# Clients read this level: from 2 on producers take a new epoch with every transaction (KIP-890).
SUPPORTED: Final = (Feature("transaction.version", 0, 2),)


class Update(NamedTuple):
    name: str
    level: int
    may_lower: bool = False


def levels(features: Features) -> dict[str, int]:
    """The level of every feature; the highest where nobody has set it."""
    return {each.name: features.levels.get(each.name, each.highest) for each in SUPPORTED}


def epoch(features: Features) -> int:
    """A number that grows with every change, by which clients tell newer news from older."""
    return max(1, features.revision)


def update_features(image: Image, updates: Iterable[Update]) -> Commit | None:
    """The commit of all updates or none; None when all are at these levels already."""
    before = levels(image.features)
    after = dict(before)
    for update in updates:
        _check(update, before)
        after[update.name] = update.level
    if after == before:
        return None
    revision = image.features.revision or ABSENT
    return Commit({FEATURES: encode(Features({**image.features.levels, **after}))}, {FEATURES: revision})


def _check(update: Update, before: dict[str, int]) -> None:
    supported = {each.name: each for each in SUPPORTED}
    feature = supported.get(update.name)
    if feature is None:
        raise _bad(f"there is no feature {update.name!r}; there are {', '.join(supported)}")
    if not feature.lowest <= update.level <= feature.highest:
        raise _bad(f"{update.name} has the levels {feature.lowest} to {feature.highest}, not {update.level}")
    if update.level < before[update.name] and not update.may_lower:
        raise _bad(
            f"{update.name} is at level {before[update.name]}: to lower it to {update.level}, ask for a downgrade"
        )


def _bad(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_UPDATE_VERSION, message)
