"""Webhooks over HTTP: subscribe, look, pause, resume, redrive, delete."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from headrace.base import topic_names
from headrace.gateway.gateway import Gateway, gateway
from headrace.gateway.webhooks.retry import RetryPolicy
from headrace.gateway.webhooks.signature import SECRET_CHARACTERS_MIN, signing_key
from headrace.gateway.webhooks.subscribe import Start, Wanted
from headrace.gateway.webhooks.webhooks import Webhooks

TOPIC_NAME = f"^{topic_names.WHOLE_PATTERN}$"

router = APIRouter(prefix="/api/v1/webhooks", tags=["webhooks"])


async def webhooks(shared: Annotated[Gateway, Depends(gateway)]) -> Webhooks:
    service = shared.part(Webhooks)
    await service.until_loaded()
    return service


Service = Annotated[Webhooks, Depends(webhooks)]


class Retry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tries_max: int = Field(RetryPolicy().tries_max, ge=1, le=1000, description="Then the messages are dead letters.")
    wait_ms: int = Field(RetryPolicy().wait_ms, ge=1, le=3_600_000, description="Before the second try; then doubled.")
    wait_ms_max: int = Field(RetryPolicy().wait_ms_max, ge=1, le=86_400_000, description="The longest wait.")


class Subscribe(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"topic": "orders", "callback_url": "https://example.com/hook"}]},
    )

    topic: str = Field(pattern=TOPIC_NAME)
    callback_url: str = Field(min_length=1, max_length=2000, description="Where messages are POSTed.")
    group: str = Field(
        "", max_length=topic_names.LENGTH_MAX, description="The consumer group; one of its own if not given."
    )
    secret: str = Field("", max_length=200, description="Signs the bodies; made, and shown once, if not given.")
    dead_letter_topic: str = Field(
        "", pattern=f"^({topic_names.WHOLE_PATTERN})?$", description="<topic>.dead-letters if not given."
    )
    start: Start = Field("latest", description="Where a group without commits begins.")
    messages_max: int = Field(100, ge=1, le=10_000, description="The most messages in one POST.")
    timeout_ms: int = Field(10_000, ge=100, le=300_000, description="How long the receiver may take to answer.")
    retry: Retry = Field(default_factory=lambda: Retry.model_validate({}))

    @field_validator("secret")
    @classmethod
    def _is_a_secret(cls, secret: str) -> str:
        if secret and (len(secret) < SECRET_CHARACTERS_MIN or len(signing_key(secret)) < SECRET_CHARACTERS_MIN):
            raise ValueError(f"a secret has {SECRET_CHARACTERS_MIN} characters at least")
        return secret

    @field_validator("group")
    @classmethod
    def _is_printable(cls, group: str) -> str:
        if not group.isprintable():
            raise ValueError("a group has printable characters only")
        return group

    @model_validator(mode="after")
    def _makes_no_loop(self) -> "Subscribe":
        for topic in (self.topic, self.dead_letter_topic):
            if topic_names.is_reserved(topic):
                raise ValueError(f"{topic} is internal")
        if self.dead_letter_topic == self.topic:
            raise ValueError("dead letters in the topic itself would be delivered for ever: choose another topic")
        return self

    def wanted(self) -> Wanted:
        return Wanted(
            topic=self.topic,
            callback_url=self.callback_url,
            group=self.group,
            secret=self.secret,
            dead_letter_topic=self.dead_letter_topic,
            start=self.start,
            messages_max=self.messages_max,
            timeout_ms=self.timeout_ms,
            retry=RetryPolicy(**self.retry.model_dump()),
        )


@router.post("", status_code=201, summary="Subscribe a URL to a topic")
async def subscribe(asked: Subscribe, service: Service) -> dict[str, Any]:
    """The reply is the only one that shows `secret`: keep it, to verify signatures."""
    made = await service.subscribe(asked.wanted())
    return {**service.view(made), "secret": made.secret}


@router.get("", summary="All webhooks")
async def list_webhooks(service: Service) -> dict[str, Any]:
    return {"webhooks": [service.view(each) for each in await service.all()]}


@router.get("/{id}", summary="One webhook, with its lag and what this gateway delivers for it")
async def describe(id: str, service: Service) -> dict[str, Any]:
    found = await service.get(id)
    return {**service.view(found), "lag": await service.lag(found)}


@router.post("/{id}/pause", summary="Deliver nothing until it is resumed; nothing is lost meanwhile")
async def pause(id: str, service: Service) -> dict[str, Any]:
    return service.view(await service.set_state(id, "paused"))


@router.post("/{id}/resume", summary="Go on where it was paused")
async def resume(id: str, service: Service) -> dict[str, Any]:
    return service.view(await service.set_state(id, "active"))


@router.post("/{id}/redrive", status_code=202, summary="Deliver its dead letters again")
async def redrive(id: str, service: Service) -> dict[str, Any]:
    """Delivers the dead letters that there are now and were not redriven before. One that fails again is a dead letter
    again.
    """
    return service.view(await service.redrive(id))


@router.delete("/{id}", status_code=204, summary="Delete a webhook; its dead letters stay")
async def delete(id: str, service: Service) -> Response:
    await service.delete(id)
    return Response(status_code=204)
