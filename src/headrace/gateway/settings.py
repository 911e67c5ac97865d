"""The settings of a gateway, from its command line or the environment as HEADRACE_GATEWAY_<NAME>."""

import json
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from headrace.base.bootstrap import parse_bootstrap
from headrace.base.errors import UserError
from headrace.gateway.monitor.rules import adjusted
from headrace.wire.compression import CODEC_NAMES

Words = Annotated[tuple[str, ...], NoDecode]

Rules = Annotated[dict[str, dict[str, float]], NoDecode]
Options = Annotated[dict[str, str], NoDecode]


class GatewaySettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="HEADRACE_GATEWAY_", frozen=True, extra="forbid")

    bootstrap: str = Field("127.0.0.1:9092", description="Brokers to ask first, HOST:PORT,…")
    kafka: Options = Field({}, description="Options of Kafka's clients, such as security.protocol, as JSON.")
    login: Literal["callers", "gateway"] = Field(
        "callers", description="Before brokers that want logins: each caller's own, or the gateway's one for everybody."
    )
    service_config: str = Field(
        "", description="File of client settings: the gateway's own login, for what is nobody's."
    )
    callers_max: int = Field(200, gt=0, description="Logins that have clients at once; beyond it, 429.")
    login_check_seconds: float = Field(
        30.0, gt=0, description="How long a login that a broker took is not asked again."
    )
    caller_idle_seconds: float = Field(300.0, gt=0, description="After so long without a request a login's clients go.")
    ui_session_seconds: float = Field(3600.0, gt=0, description="After so long unused a log-in to the UI ends.")
    cookie_secure: bool = Field(False, description="Cookies over https only, also where a proxy ends TLS before us.")
    oidc_issuer: str = Field("", description="URL of the OpenID provider that people log in to the UI with.")
    oidc_client_id: str = Field("", description="The name that the provider knows this gateway by.")
    oidc_client_secret_file: str = Field("", description="File with the secret of that client, if it has one.")
    oidc_audience: str = Field("", description="The audience of access tokens: the one that brokers expect.")
    oidc_redirect_url: str = Field("", description="Where the provider sends browsers back: https://…/login/oidc/done")
    oidc_scopes: Words = Field(("openid", "profile"), description="Scopes that are asked for; openid is among them.")
    oidc_ca: str = Field("", description="PEM file of the authorities that the provider's certificate is trusted by.")
    certificate: str = Field("", description="PEM file with the gateway's certificate and its chain: serves https.")
    certificate_key: str = Field(
        "", description="PEM file with the key of `certificate`, if it is not in the same file."
    )

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    allow_insecure_network: bool = Field(
        False, description="Listen on more than this machine, though callers need no login."
    )
    broker_metrics: Words = Field((), description="Where brokers serve /metrics, as HOST:PORT,…")

    allowed_hosts: Words = Field((), description="Names beside loopback and `host` that requests may address us by.")
    allowed_origins: Words = Field((), description="Origins beside our own whose pages may call us.")

    body_bytes_max: int = Field(32 << 20, gt=0, description="The largest request body.")
    messages_max: int = Field(10_000, gt=0, description="The most messages in one POST, and in one GET.")
    reply_bytes_max: int = Field(8 << 20, gt=0, description="About how many bytes of messages a GET returns at most.")
    in_flight_bytes_max: int = Field(256 << 20, gt=0, description="Bodies and pages in work at once; beyond it, 429.")
    head_seconds_max: float = Field(20.0, gt=0, description="How long a sender may take for the head of a request.")
    idempotency_bytes_max: int = Field(
        256 << 20, gt=0, description="What is remembered of requests with an Idempotency-Key; beyond it, 429."
    )
    body_seconds_max: float = Field(30.0, gt=0, description="How long a sender may take for a body, or for a pause.")
    delivery_seconds_max: float = Field(30.0, gt=0, description="How long a message may take to be acknowledged.")
    wait_seconds_max: float = Field(30.0, gt=0, description="The longest long poll.")
    polls_max: int = Field(1000, gt=0, description="Long polls and streams of lines at once; beyond it, 429.")
    ui_pages_max: int = Field(500, gt=0, description="Pages of the UI that are open at once; beyond it, 429.")

    push_listeners_max: int = Field(
        20_000, gt=0, description="Open event streams and WebSockets at once; beyond it, 429."
    )
    push_groups_max: int = Field(100, gt=0, description="Those of them that read as members of a group.")
    push_buffer_bytes_max: int = Field(
        64 << 20, gt=0, description="Recent messages kept for all listeners, as sent too."
    )
    push_send_seconds_max: float = Field(60.0, gt=0, description="How long a listener may take nothing before it goes.")
    group_session_ms: int = Field(10_000, gt=0, description="After so long without a sign another gateway takes over.")
    webhooks_max: int = Field(500, gt=0, description="The most webhooks there may be.")
    webhook_keys: str = Field(
        "", description="File of keys that seal the secrets of webhooks, as base64, one in a line."
    )
    webhook_networks: Words = Field(
        (), description="Networks beside public ones that webhooks may go to, as 10.0.0.0/8,…"
    )

    scrape_seconds: float = Field(5.0, gt=0, description="How often brokers' metrics and the lag of groups are read.")
    history_seconds: float = Field(1800.0, gt=0, description="For how long what was read is kept, in memory.")
    alert_webhook: str = Field("", description="URL that alerts are posted to as they fire and are cleared.")
    alert_rules: Rules = Field({}, description="Changed alerts, as JSON: docs/monitoring.md.")
    otel_endpoint: str = Field("", description="URL of an OpenTelemetry collector; without one there are no traces.")

    sessions_max: int = Field(200, ge=0, description="The most sessions of consumer groups at once.")

    @property
    def callers_log_in(self) -> bool:
        """Whether the brokers want logins, and the gateway passes on those of its callers."""
        return self.login == "callers" and self.kafka.get("security.protocol", "").upper().startswith("SASL")

    @property
    def is_tls(self) -> bool:
        return bool(self.certificate)

    @field_validator(
        "broker_metrics", "allowed_hosts", "allowed_origins", "webhook_networks", "oidc_scopes", mode="before"
    )
    @classmethod
    def _words(cls, value: object) -> object:
        return tuple(filter(None, (word.strip() for word in value.split(",")))) if isinstance(value, str) else value

    @field_validator("alert_rules", "kafka", mode="before")
    @classmethod
    def _json(cls, value: object) -> object:
        return json.loads(value) if isinstance(value, str) else value

    @field_validator("kafka")
    @classmethod
    def _has_known_codec(cls, value: dict[str, str]) -> dict[str, str]:
        if value.get("compression.type", "none") not in CODEC_NAMES:
            raise ValueError(f"compression.type is one of {', '.join(CODEC_NAMES)}")
        return value

    @field_validator("alert_rules")
    @classmethod
    def _has_known_rules(cls, value: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        adjusted(value)
        return value

    @field_validator("bootstrap")
    @classmethod
    def _has_addresses(cls, value: str) -> str:
        try:
            parse_bootstrap(value)
        except UserError as error:
            raise ValueError(error.cause) from error
        return value
