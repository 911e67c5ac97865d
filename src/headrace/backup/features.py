"""Feature levels of a cluster (`transaction.version`): asked for a backup, and set again by a restore."""

from collections.abc import Mapping
from typing import NamedTuple

from headrace import __version__
from headrace.admin.admin import TIMEOUT_MS, Admin, check
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from headrace.wire.messages.features import FeatureUpdate, UpdateFeaturesRequest, UpdateFeaturesResponse

UPGRADE, DOWNGRADE = 1, 2


class Levels(NamedTuple):
    """The level of each feature, and the lowest and highest that the brokers know."""

    now: Mapping[str, int]
    known: Mapping[str, tuple[int, int]]


async def feature_levels(admin: Admin) -> Levels:
    request = ApiVersionsRequest("headrace-backup", __version__)
    answer = await admin.ask(request, ApiVersionsResponse)
    check(answer.error_code)
    known = {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
    # One at level 0 is not listed.
    now = dict.fromkeys(known, 0) | {each.name: each.max_version_level for each in answer.finalized_features}
    return Levels(now, known)


async def set_feature_levels(admin: Admin, levels: Mapping[str, int]) -> None:
    now = (await feature_levels(admin)).now
    updates = [
        FeatureUpdate(name, level, upgrade_type=UPGRADE if level > now.get(name, 0) else DOWNGRADE)
        for name, level in levels.items()
        if level != now.get(name, 0)
    ]
    if updates:
        answer = await admin.ask(UpdateFeaturesRequest(TIMEOUT_MS, updates), UpdateFeaturesResponse)
        check(answer.error_code, answer.error_message)
