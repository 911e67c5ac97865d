"""Spans to an OpenTelemetry collector: only where an endpoint is set and the extra `traces` is installed.

A thread of the SDK sends them in batches, from a queue with a bound; while a collector is away they are dropped.
OpenTelemetry's own environment (OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, …) counts too.
"""

from typing import TYPE_CHECKING

from headrace import __version__
from headrace.base.errors import UserError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

SECONDS_MAX = 5


def open_provider(setting: str, endpoint: str, service: str, instance: str = "") -> "TracerProvider":
    """Opens the exporter to `endpoint`. `setting` names the place where it was set, for the error that names the extra."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise UserError(f"{setting} is set, but {error}", "pip install 'headrace[traces]'") from None
    named = {"service.name": service, "service.version": __version__}
    if instance:
        named["service.instance.id"] = instance
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", timeout=SECONDS_MAX)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
