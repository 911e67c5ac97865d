"""A broker with rules that takes tokens by every mechanism, users who make them, and clients that log in by one."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from sasl_brokers import BROKER, PASSWORD, add_users, librdkafka, python_client, sasl_broker

from headrace.cli.app import run
from headrace.testing.broker import Broker

ADMIN = "admin"
MECHANISMS = ("PLAIN", "OAUTHBEARER", "SCRAM-SHA-256", "SCRAM-SHA-512")
SETTINGS = {
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "sasl.oauthbearer.scoped.tokens.only": "true",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:{BROKER};User:{ADMIN}",
}


class TokenBroker:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def login(self, user: str, mechanism: str = "SCRAM-SHA-512") -> dict[str, object]:
        return librdkafka(self.broker, mechanism, user)

    def headrace(self, user: str, *arguments: str, code: int = 0) -> Any:
        """What a command prints as JSON, run as this user."""
        file = self.broker.data / f"{user}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in self.login(user).items()))
        file.chmod(0o600)
        printed = StringIO()
        with redirect_stdout(printed), _environment(HEADRACE_CONFIG=str(file)):
            assert run([*arguments, "--json"]) == code, (arguments, printed.getvalue())
        return json.loads(printed.getvalue()) if printed.getvalue() else None

    def allow(self, user: str, *options: str) -> None:
        self.headrace(ADMIN, "acl", "allow", "--user", user, *options)

    def token(self, user: str, *options: str) -> str:
        text: str = self.headrace(user, "token", "create", *options)["token"]
        return text


@contextmanager
def token_broker(data: Path, *users: str, settings: Mapping[str, object] | None = None) -> Iterator[TokenBroker]:
    add_users(data, ADMIN, *users)
    with sasl_broker(data, {**SETTINGS, **(settings or {})}) as broker:
        yield TokenBroker(broker)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def narrow(token: str, folder: Path, *options: str) -> str:
    file = folder / "token"
    file.write_text(f"{token}\n")
    printed = StringIO()
    with redirect_stdout(printed):
        assert run(["token", "narrow", str(file), *options]) == 0
    return printed.getvalue().strip()


def user_and_password(mechanism: str, token: str) -> tuple[str, str]:
    """How a client is given a token where it asks for a user and a password."""
    if mechanism == "PLAIN":
        return "anybody", token
    name, _, password = token.rpartition(".")
    return name, password


def librdkafka_by_token(broker: Broker, mechanism: str, token: str) -> dict[str, Any]:
    if mechanism == "OAUTHBEARER":
        login: dict[str, Any] = librdkafka(broker, mechanism)
        del login["sasl.username"], login["sasl.password"]
        return {**login, "oauth_cb": lambda _: (token, time.time() + 3_600, "anybody", {})}
    return librdkafka(broker, mechanism, *user_and_password(mechanism, token))


def python_client_by_token(broker: Broker, mechanism: str, token: str, provider: Any) -> Mapping[str, Any]:
    if mechanism == "OAUTHBEARER":
        login = dict(python_client(broker, mechanism))
        del login["sasl_plain_username"], login["sasl_plain_password"]
        return {**login, "sasl_oauth_token_provider": provider(token)}
    return python_client(broker, mechanism, *user_and_password(mechanism, token))


__all__ = ["PASSWORD", "TokenBroker", "token_broker"]
