"""The application: every router and every part in one list each, and the lifespan that starts and stops them."""

import contextlib
from collections.abc import AsyncIterator

from fastapi import APIRouter, Depends, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from headrace import __version__
from headrace.gateway import problem
from headrace.gateway.admin.routers import ROUTERS as ADMIN_ROUTERS
from headrace.gateway.bounded_bodies import BoundedBodies
from headrace.gateway.callers.callers import Callers
from headrace.gateway.callers.described import describe_logins
from headrace.gateway.callers.furnish import add_callers
from headrace.gateway.callers.login_page import LoginPage
from headrace.gateway.callers.reception import Reception
from headrace.gateway.callers.visits import Visits
from headrace.gateway.doorkeeper import Doorkeeper
from headrace.gateway.gateway import Gateway
from headrace.gateway.groups.sessions import Sessions
from headrace.gateway.idempotency.memory import Memory
from headrace.gateway.idempotency.once import Once
from headrace.gateway.known_parameters import check_parameters
from headrace.gateway.messages import routes as message_routes
from headrace.gateway.messages.fast_lane import FastLane
from headrace.gateway.messages.store import MessageStore
from headrace.gateway.monitor import routes as monitor_routes
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.monitor.requests import CountRequests
from headrace.gateway.monitor.traces import GatewayTraces, TraceRequests
from headrace.gateway.oidc.pages import OidcPages
from headrace.gateway.oidc.provider import provider_of
from headrace.gateway.push import routes as push_routes
from headrace.gateway.push.hub import Hub
from headrace.gateway.segments import Segments
from headrace.gateway.settings import GatewaySettings
from headrace.gateway.ui.mount import mount
from headrace.gateway.webhooks import routes as webhook_routes
from headrace.gateway.webhooks.parts import add_webhooks

ROUTERS: tuple[APIRouter, ...] = (
    # They are asked in this order: the busiest first.
    message_routes.router,
    *ADMIN_ROUTERS,
    monitor_routes.router,
    push_routes.router,
    webhook_routes.router,
)


def create_app(settings: GatewaySettings) -> FastAPI:
    gateway = Gateway(settings)
    provider = provider_of(settings)
    if gateway.trust is None:
        gateway.add(MessageStore(gateway))
        gateway.add(Once(gateway, Memory(settings.idempotency_bytes_max)))
        gateway.add(Hub(gateway))
        add_webhooks(gateway)(gateway)
        gateway.add(Sessions(gateway))
        gateway.add(Monitor(gateway))
    else:
        add_callers(gateway, gateway.trust)
        if provider is not None:
            gateway.add(provider)
    app = FastAPI(
        title="Headrace",
        version=__version__,
        description="A durable, partitioned log over HTTP. Errors are application/problem+json with detail and fix.",
        lifespan=_lifespan,
        docs_url=None,
        # Another path is another path, and a name in one may hold what no address can.
        redirect_slashes=False,
        redoc_url=None,
        responses={"default": problem.PROBLEM_REPLY},
        dependencies=[Depends(check_parameters)],
    )
    app.state.gateway = gateway
    problem.add_handlers(app)
    for router in ROUTERS:
        app.include_router(router)
    if gateway.trust is not None:
        callers, visits = gateway.part(Callers), gateway.part(Visits)
        app.include_router(LoginPage(callers, visits, provider).router)
        if provider is not None:
            app.include_router(OidcPages(provider, callers, visits).router)
        describe_logins(app, gateway.trust)
    mount(app, gateway)
    return app


def front_door(app: FastAPI) -> ASGIApp:
    """The layers that a request passes before the framework; the busiest path is answered in them."""
    gateway: Gateway = app.state.gateway
    settings = gateway.settings
    layers: ASGIApp = FastLane(BoundedBodies(app, gateway.intake), gateway, message_routes.fast_routes())
    if gateway.trust is not None:
        layers = Reception(layers, gateway.part(Callers), gateway.part(Visits), settings)
    layers = CountRequests(layers, gateway.part(Monitor).requests)
    if settings.otel_endpoint:
        gateway.add(traces := GatewayTraces(settings.otel_endpoint))
        layers = TraceRequests(layers, traces.provider)
    if settings.allowed_origins:
        layers = CORSMiddleware(layers, list(settings.allowed_origins), allow_methods=["*"], allow_headers=["*"])
    return Doorkeeper(Segments(layers), settings)


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    gateway: Gateway = app.state.gateway
    await gateway.start()
    try:
        yield
    finally:
        await gateway.stop()
