"""Every router of administration and of groups, in one list for the application."""

from headrace.gateway.admin import cluster, configs, elections, health, reassignments, topics, transactions
from headrace.gateway.groups import offsets, resets, routes, session_routes

ROUTERS = (
    health.router,
    topics.router,
    configs.router,
    cluster.router,
    reassignments.router,
    elections.router,
    transactions.router,
    session_routes.router,
    offsets.router,
    offsets.short_router,
    resets.router,
    routes.router,
)
