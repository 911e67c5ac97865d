"""UpdateFeatures: other levels of features for the whole cluster, all that a request names or none of them."""

from headrace.base.errors import Refused
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.cluster.features import Update, update_features
from headrace.cluster.image import Image
from headrace.cluster.store import Commit
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.features import FeatureUpdate, UpdatableFeatureResult, UpdateFeaturesResponse

TYPES_SINCE = 1
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


async def handle_update_features(view: View, request: Request) -> UpdateFeaturesResponse:
    body = request.body

    def plan(image: Image) -> list[Commit]:
        commit = update_features(image, [_update(each, request.version) for each in body.feature_updates])
        return [] if commit is None else [commit]

    try:
        await view.metadata.change(plan, body.validate_only)
    except Refused as refusal:
        return UpdateFeaturesResponse(0, refusal.code, refusal.message)
    results = [UpdatableFeatureResult(each.feature) for each in body.feature_updates]
    return UpdateFeaturesResponse(0, 0, None, results)


def _update(wanted: FeatureUpdate, version: int) -> Update:
    if version < TYPES_SINCE:
        return Update(wanted.feature, wanted.max_version_level, wanted.allow_downgrade)
    if wanted.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise Refused(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"{wanted.feature}: update type {wanted.upgrade_type} is none of upgrade (1), downgrade (2) and unsafe (3)",
        )
    return Update(wanted.feature, wanted.max_version_level, wanted.upgrade_type != UPGRADE)
