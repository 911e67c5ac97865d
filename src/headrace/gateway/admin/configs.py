"""Settings of topics and brokers: what each is and where it comes from; changed one by one, not all at once."""

from typing import Annotated

from fastapi import Body
from pydantic import BaseModel, Field

from headrace.admin.admin import BROKER, TOPIC, Admin, Resource
from headrace.admin.configs import Config, describe_configs
from headrace.admin.topics import find_topic
from headrace.gateway.admin.routing import Broker, Shared, Topic, admin_router, require_alive

router = admin_router("configs")

Changes = Annotated[
    dict[str, str | None],
    Body(
        min_length=1,
        description="Each to a new value, as text; null goes back to the default.",
        examples=[{"retention.ms": "3600000", "max.message.bytes": None}],
    ),
]


class ConfigShown(BaseModel):
    name: str
    value: str | None
    source: Annotated[str, Field(description="topic, broker, broker (dynamic), cluster (dynamic) or default.")]
    read_only: bool
    sensitive: bool
    documentation: str | None

    @classmethod
    def of(cls, config: Config) -> "ConfigShown":
        return cls(**config._asdict())


class ConfigList(BaseModel):
    configs: list[ConfigShown]


@router.get("/topics/{topic}/configs", summary="Show the configs of a topic")
async def topic_configs(topic: Topic, gateway: Shared) -> ConfigList:
    return await _configs(gateway.admin, Resource(TOPIC, topic))


@router.patch("/topics/{topic}/configs", summary="Change configs of a topic")
async def alter_topic_configs(topic: Topic, changes: Changes, gateway: Shared) -> ConfigList:
    await find_topic(gateway.admin, topic)
    return await _alter(gateway.admin, Resource(TOPIC, topic), changes)


@router.get("/brokers/{broker}/configs", summary="Show the configs of a broker")
async def broker_configs(broker: Broker, gateway: Shared) -> ConfigList:
    await require_alive(gateway.admin, broker)
    return await _configs(gateway.admin, Resource(BROKER, str(broker)))


@router.patch("/brokers/{broker}/configs", summary="Change configs of a broker while it runs")
async def alter_broker_configs(broker: Broker, changes: Changes, gateway: Shared) -> ConfigList:
    await require_alive(gateway.admin, broker)
    return await _alter(gateway.admin, Resource(BROKER, str(broker)), changes)


async def _configs(admin: Admin, resource: Resource) -> ConfigList:
    return ConfigList(configs=[ConfigShown.of(each) for each in await describe_configs(admin, resource)])


async def _alter(admin: Admin, resource: Resource, changes: dict[str, str | None]) -> ConfigList:
    await admin.alter_configs({resource: changes})
    return await _configs(admin, resource)
