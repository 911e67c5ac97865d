"""The parts of gateways that webhooks are made of: one for the process, and one for each caller."""

from collections.abc import Callable

from headrace.gateway.gateway import Gateway
from headrace.gateway.webhooks.deliveries import Deliveries
from headrace.gateway.webhooks.reservations import Reservations
from headrace.gateway.webhooks.webhooks import Webhooks, webhook_networks

_NO_LOGIN = (
    "webhooks are kept in a topic of the gateway's own, for which it needs a login of its own (--service-config FILE)"
)
_NO_KEYS = "webhooks act by tokens, which are kept sealed, and there is no key to seal them with (webhook_keys)"


def add_webhooks(home: Gateway) -> Callable[[Gateway], None]:
    """Gives the process's own gateway its deliveries; what is returned gives a caller's its webhooks."""
    lacking = _lacking(home)
    if lacking:
        return lambda gateway: gateway.lack(Webhooks, lacking)
    webhook_networks(home)
    deliveries = Deliveries(home)
    room = Reservations(home.settings.webhooks_max, lambda: deliveries.registry.subscriptions)
    home.add(deliveries)
    return lambda gateway: gateway.add(Webhooks(gateway, deliveries, room))


def _lacking(home: Gateway) -> str:
    """The reason why there are none."""
    if home.trust is None:
        return ""
    if not home.has_login:
        return _NO_LOGIN
    return "" if home.settings.webhook_keys else _NO_KEYS
