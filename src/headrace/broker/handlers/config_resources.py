"""ListConfigResources: everything that has settings, by the kinds that are asked for."""

from collections.abc import Callable, Iterable

from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.cluster.image import Image
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.configs import ConfigResource, ListConfigResourcesResponse

KINDS_SINCE = 1
CLIENT_METRICS = 16


def _nothing(image: Image) -> Iterable[str]:
    return ()


# Loggers, subscriptions to clients' metrics and groups have no settings here; clients may ask for them all the same.
_NAMES: dict[int, Callable[[Image], Iterable[str]]] = {
    8: _nothing,
    4: lambda image: map(str, image.brokers),
    2: lambda image: image.topics,
    CLIENT_METRICS: _nothing,
    32: _nothing,
}


def handle_list_config_resources(view: View, request: Request) -> ListConfigResourcesResponse:
    asked = set(request.body.resource_types) if request.version >= KINDS_SINCE else {CLIENT_METRICS}
    if asked - _NAMES.keys():
        return ListConfigResourcesResponse(0, ErrorCode.UNSUPPORTED_VERSION)
    image = view.image
    kinds = [kind for kind in _NAMES if kind in asked or not asked]
    return ListConfigResourcesResponse(
        0, 0, [ConfigResource(name, kind) for kind in kinds for name in sorted(_NAMES[kind](image))]
    )
