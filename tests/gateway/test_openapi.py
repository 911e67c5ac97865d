"""schemathesis against the description: whatever fits it, or does not, is answered as it says, and never by a 5xx."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from gateway_process import GatewayProcess
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from headrace.testing import Broker

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
# Streams without an end.
ENDLESS = re.compile(r"/events$")


@pytest.fixture(scope="module")
def api() -> Iterator[Any]:
    """A cluster of its own: the calls make, change and delete what they like. No poll waits for long."""
    with Broker({"auto.create.topics.enable": "false"}) as broker:
        running = GatewayProcess(broker.bootstrap, "--set", "wait_seconds_max=0.05").start()
        for name in ("orders", "0"):
            httpx.post(f"{running.url}/api/v1/topics", json={"name": name}, timeout=60)
        yield schemathesis.openapi.from_url(f"{running.url}/openapi.json")
        running.stop()


def operations(api: Any) -> Iterator[Any]:
    for found in api.get_all_operations():
        operation = found.ok()
        if not ENDLESS.search(operation.path):
            yield operation


def try_out(api: Any, options: settings) -> list[str]:
    """What is wrong, with the operation it is wrong in."""
    complaints = []
    for operation in operations(api):

        @options
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            if isinstance(case.query, dict):
                case.query.pop("follow", None)
            case.call_and_validate(checks=CHECKS, timeout=60)

        try:
            check()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            shown = "\n".join(str(each) for each in getattr(error, "exceptions", [error]))
            complaints.append(f"{operation.label}: {shown}")
    return complaints


def examples(count: int, **options: Any) -> settings:
    return settings(
        max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None, **options
    )


def test_every_path(api: Any) -> None:
    assert len(list(operations(api))) > 30
    complaints = try_out(api, examples(5, derandomize=True))
    assert not complaints, "\n\n".join(complaints)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_path_at_length(api: Any) -> None:
    complaints = try_out(api, examples(50))
    assert not complaints, "\n\n".join(complaints)
