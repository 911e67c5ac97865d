"""ApiVersions: which APIs, versions and features this broker has, before anything else is said."""

import re
from typing import TYPE_CHECKING

from headrace.broker.dispatch import Request
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.api_versions import ApiVersionsResponse

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
SOFTWARE_SINCE = 3


def handle_api_versions(broker: "Broker", request: Request) -> ApiVersionsResponse:
    body = request.body
    if request.version >= SOFTWARE_SINCE:
        for text in (body.client_software_name, body.client_software_version):
            if not _SOFTWARE.fullmatch(text):
                return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        request.connection.client_software = f"{body.client_software_name} {body.client_software_version}"
    return ApiVersionsResponse(0, broker.dispatch.api_versions)
