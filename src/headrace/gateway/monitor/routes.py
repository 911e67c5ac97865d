"""Metrics and alerts over HTTP."""

from itertools import chain
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response

from headrace.base import topic_names
from headrace.base.exposition import CONTENT_TYPE, render
from headrace.gateway.gateway import Gateway, gateway
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.monitor.notify import alert_view
from headrace.gateway.monitor.own_metrics import own_metrics
from headrace.gateway.monitor.rules import Rule
from headrace.gateway.monitor.sight import LAG
from headrace.gateway.problem import Problem
from headrace.gateway.push.hub import Hub
from headrace.gateway.push.metrics import push_metrics
from headrace.gateway.rights import Right
from headrace.gateway.webhooks.deliveries import Deliveries
from headrace.gateway.webhooks.metrics import webhook_metrics

router = APIRouter(tags=["monitoring"])


async def monitor(shared: Annotated[Gateway, Depends(gateway)]) -> Monitor:
    """The one that watches the whole cluster, for who may know the whole."""
    if shared.is_caller:
        await shared.rights.require([Right.DESCRIBE])
    return shared.home.part(Monitor)


async def watching_monitor(known: Annotated[Monitor, Depends(monitor)]) -> Monitor:
    if not known.is_watching:
        raise Problem(
            503,
            "Nobody watches",
            "this gateway has no login of its own to watch the cluster with",
            "start it with --service-config FILE, the login of a user with Describe on the cluster and its groups",
        )
    return known


Watching = Annotated[Monitor, Depends(watching_monitor)]


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(
    watching: Annotated[Monitor, Depends(monitor)], shared: Annotated[Gateway, Depends(gateway)]
) -> Response:
    """The gateway's own metrics, lag of groups and alerts among them, as Prometheus text."""
    of_push = push_metrics(shared.part(Hub))
    home = shared.home
    of_webhooks = webhook_metrics(home.part(Deliveries), watching.latest(LAG)) if home.has(Deliveries) else []
    return Response(render(chain(own_metrics(watching), of_push, of_webhooks)), media_type=CONTENT_TYPE)


@router.get("/metrics/brokers/{broker}", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def broker_metrics(broker: Annotated[int, Path(ge=0, le=2**31 - 1)], watching: Watching) -> Response:
    """The metrics of one broker, fetched from it now: for scrapers that reach only the gateway."""
    text = await watching.scraper.text(broker)
    if text is None:
        detail = f"broker {broker} serves no metrics that the gateway could fetch"
        raise Problem(404, "No such metrics", detail, "name where brokers serve them: --set broker_metrics=HOST:PORT,…")
    return Response(text, media_type=CONTENT_TYPE)


@router.get("/api/v1/metrics/history")
async def history(
    watching: Watching,
    metric: Annotated[str, Query(max_length=200, description="As on /metrics; a counter comes as its rate a second.")],
    seconds: Annotated[float, Query(gt=0, le=86_400)] = 600.0,
    topic: Annotated[str | None, Query(max_length=topic_names.LENGTH_MAX)] = None,
    broker: Annotated[int | None, Query(ge=0)] = None,
    group: Annotated[str | None, Query(max_length=65_535)] = None,
    partition: Annotated[int | None, Query(ge=0)] = None,
) -> dict[str, Any]:
    """The latest measurements of a topic, a broker, a group, or without any of these of the whole cluster."""
    labels = {"topic": topic, "broker": broker, "group": group, "partition": partition}
    named = {name: value for name, value in labels.items() if value is not None}
    points = watching.history(metric, named, seconds)
    return {"metric": metric, "labels": named, "points": [{"at": at, "value": value} for at, value in points]}


@router.get("/api/v1/alerts")
async def alerts(watching: Watching) -> dict[str, Any]:
    """Alerts that fire, are about to, or were cleared lately; and the rules that they come from."""
    return {
        "alerts": [alert_view(alert) for alert in watching.alerts.all],
        "rules": [_rule_view(rule) for rule in watching.alerts.rules],
    }


def _rule_view(rule: Rule) -> dict[str, Any]:
    shown = ("name", "severity", "threshold", "clears_at", "for_seconds", "keep_seconds", "window_seconds", "fix")
    return {name: getattr(rule, name) for name in shown}
