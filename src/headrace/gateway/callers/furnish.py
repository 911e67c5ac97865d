"""The parts of a gateway whose callers log in: the process's own, and those that each login has to itself."""

from headrace.gateway.broker_login import Trust
from headrace.gateway.callers.callers import Callers
from headrace.gateway.callers.hello import Hello
from headrace.gateway.callers.visits import Visits
from headrace.gateway.gateway import Gateway
from headrace.gateway.groups.sessions import Sessions
from headrace.gateway.idempotency.once import Once
from headrace.gateway.messages.store import MessageStore
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.push.hub import Hub, Places
from headrace.gateway.webhooks.parts import add_webhooks

_NO_KEYS = (
    "an Idempotency-Key is remembered beside the messages, in one transaction and in a topic of the gateway's own, where a "
    "caller has no rights"
)


def add_callers(home: Gateway, trust: Trust) -> None:
    """Gives the process's own gateway its parts."""
    settings = home.settings
    places, session_ids = Places(settings), set[str]()

    add_own_webhooks = add_webhooks(home)

    def furnish(gateway: Gateway) -> None:
        gateway.add(MessageStore(gateway))
        gateway.add(Hub(gateway, places))
        gateway.add(Sessions(gateway, session_ids))
        gateway.add(Monitor(gateway, is_watching=False))
        add_own_webhooks(gateway)
        _leave_out(gateway)

    # It has no listeners; what is counted of all is counted here.
    home.add(Hub(home, places))
    home.add(Monitor(home, is_watching=home.has_login))
    visits = Visits(settings.ui_session_seconds, settings.cookie_secure or settings.is_tls)
    callers = Callers(home, trust, furnish)
    callers.on_refused = visits.end_all_of
    home.add(Hello(home, trust))
    home.add(visits)
    home.add(callers)
    _leave_out(home)


def _leave_out(gateway: Gateway) -> None:
    gateway.lack(Once, f"{_NO_KEYS}; send the messages without one")
