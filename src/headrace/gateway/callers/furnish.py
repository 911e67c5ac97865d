"""The parts of a gateway whose callers log in: the process's own, and those that each login has to itself."""

from headrace.gateway.broker_login import Trust
from headrace.gateway.callers.callers import Callers
from headrace.gateway.callers.hello import Hello
from headrace.gateway.callers.visits import Visits
from headrace.gateway.gateway import Gateway
from headrace.gateway.groups.sessions import Sessions
from headrace.gateway.idempotency.memory import Memory
from headrace.gateway.idempotency.once import Once
from headrace.gateway.messages.store import MessageStore
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.push.hub import Hub, Places
from headrace.gateway.webhooks.parts import add_webhooks


def add_callers(home: Gateway, trust: Trust) -> None:
    """Gives the process's own gateway its parts."""
    settings = home.settings
    places, session_ids = Places(settings), set[str]()
    memory = Memory(settings.idempotency_bytes_max)
    add_own_webhooks = add_webhooks(home)

    def furnish(gateway: Gateway) -> None:
        gateway.add(MessageStore(gateway))
        gateway.add(Hub(gateway, places))
        gateway.add(Sessions(gateway, session_ids))
        gateway.add(Monitor(gateway, is_watching=False))
        gateway.add(Once(gateway, memory))
        add_own_webhooks(gateway)

    # It has no listeners; what is counted of all is counted here.
    home.add(Hub(home, places))
    home.add(Monitor(home, is_watching=home.has_login))
    visits = Visits(settings.ui_session_seconds, settings.cookie_secure or settings.is_tls)
    callers = Callers(home, trust, furnish)
    callers.on_refused = visits.end_all_of
    home.add(Hello(home, trust))
    home.add(visits)
    home.add(callers)
