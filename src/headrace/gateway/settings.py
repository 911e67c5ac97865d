"""What a gateway is told: by its command line, or by the environment as HEADRACE_GATEWAY_<NAME>."""

from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

Address = tuple[str, int]
Words = Annotated[tuple[str, ...], NoDecode]


class GatewaySettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="HEADRACE_GATEWAY_", frozen=True, extra="forbid")

    bootstrap: str = Field("127.0.0.1:9092", description="Brokers to ask first, HOST:PORT,…")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    broker_metrics: Words = Field((), description="Where brokers serve /metrics, as HOST:PORT,…")

    allowed_hosts: Words = Field((), description="Names beside loopback and `host` that requests may address us by.")
    allowed_origins: Words = Field((), description="Origins beside our own whose pages may call us.")

    body_bytes_max: int = Field(32 << 20, gt=0, description="The largest request body.")
    messages_max: int = Field(10_000, gt=0, description="The most messages in one POST, and in one GET.")
    reply_bytes_max: int = Field(8 << 20, gt=0, description="About how many bytes of messages a GET returns at most.")
    in_flight_bytes_max: int = Field(256 << 20, gt=0, description="Bodies being served at once; beyond it, 429.")
    body_seconds_max: float = Field(30.0, gt=0, description="How long a sender may take for a body, or for a pause.")
    delivery_seconds_max: float = Field(30.0, gt=0, description="How long a message may take to be acknowledged.")
    wait_seconds_max: float = Field(30.0, gt=0, description="The longest long poll.")

    @field_validator("broker_metrics", "allowed_hosts", "allowed_origins", mode="before")
    @classmethod
    def _words(cls, value: object) -> object:
        return tuple(filter(None, (word.strip() for word in value.split(",")))) if isinstance(value, str) else value

    @field_validator("bootstrap")
    @classmethod
    def _has_addresses(cls, value: str) -> str:
        parse_addresses(value)
        return value

    @property
    def brokers(self) -> list[Address]:
        return parse_addresses(self.bootstrap)


def parse_addresses(text: str) -> list[Address]:
    return [_address(part.strip()) for part in text.split(",")]


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{text} is not HOST:PORT, such as 127.0.0.1:9092")
    return host.strip("[]"), int(port)
