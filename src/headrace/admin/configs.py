"""Settings of a topic or a broker, each with where its value comes from."""

from typing import NamedTuple

from headrace.admin.admin import BROKER, Admin, Resource, check
from headrace.wire.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)

# What is set for all brokers is described without a number.
ALL_BROKERS = ""
SOURCES = {
    1: "topic",
    2: "broker (dynamic)",
    3: "cluster (dynamic)",
    4: "broker",
    5: "default",
}


class Config(NamedTuple):
    name: str
    value: str | None
    """None also when it is sensitive: brokers do not tell those."""
    source: str
    read_only: bool
    sensitive: bool
    documentation: str | None


async def describe_configs(admin: Admin, resource: Resource) -> list[Config]:
    asked = DescribeConfigsResource(resource.kind, resource.name, None)
    request = DescribeConfigsRequest([asked], include_documentation=True)
    if resource.kind == BROKER and resource.name != ALL_BROKERS:
        # What stands in its file only the broker itself knows.
        reply = await admin.ask_broker(int(resource.name), request, DescribeConfigsResponse)
    else:
        reply = await admin.ask(request, DescribeConfigsResponse)
    (answer,) = reply.results
    check(answer.error_code, answer.error_message)
    return sorted(map(_config, answer.configs))


def _config(each: DescribeConfigsResourceResult) -> Config:
    source = SOURCES.get(each.config_source, "unknown")
    return Config(each.name, each.value, source, each.read_only, each.is_sensitive, each.documentation or None)
