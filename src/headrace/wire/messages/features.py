"""UpdateFeatures: the levels of features that the whole cluster has agreed on."""

from headrace.wire.schema import Request, Response, Struct, array, boolean, int8, int16, int32, string


class FeatureUpdate(Struct):
    feature: str = string()
    max_version_level: int = int16()
    allow_downgrade: bool = boolean(versions="0")
    upgrade_type: int = int8(versions="1+", default=1)


class UpdateFeaturesRequest(Request, key=57, versions="0-2", flexible=0):
    timeout_ms: int = int32(default=60000)
    feature_updates: list[FeatureUpdate] = array(FeatureUpdate)
    validate_only: bool = boolean(versions="1+")


class UpdatableFeatureResult(Struct):
    feature: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class UpdateFeaturesResponse(Response, to=UpdateFeaturesRequest):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    results: list[UpdatableFeatureResult] = array(UpdatableFeatureResult, versions="0-1")
