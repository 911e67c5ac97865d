"""ApiVersions: which APIs, versions and features this broker has, before anything else is said."""

import re

from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Dispatch, Request
from headrace.cluster.features import SUPPORTED, epoch, levels
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
SOFTWARE_SINCE = 3
LEVEL_ZERO_SINCE = 4


def handle_api_versions(view: View, dispatch: Dispatch, request: Request) -> ApiVersionsResponse:
    body = request.body
    if request.version >= SOFTWARE_SINCE:
        for text in (body.client_software_name, body.client_software_version):
            if not _SOFTWARE.fullmatch(text):
                return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        request.connection.client_software = f"{body.client_software_name} {body.client_software_version}"
    response = ApiVersionsResponse(0, dispatch.api_versions)
    features = view.image.features
    response.finalized_features_epoch = epoch(features)
    # A feature at level 0 is one that nobody uses; it is not listed.
    response.finalized_features = [
        FinalizedFeatureKey(name, level, level) for name, level in levels(features).items() if level
    ]
    # Older clients of the Java family cannot parse a feature whose lowest level is 0.
    supported = SUPPORTED if request.version >= LEVEL_ZERO_SINCE else ()
    response.supported_features = [SupportedFeatureKey(*each) for each in supported]
    return response
