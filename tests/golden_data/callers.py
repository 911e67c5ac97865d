"""A broker of golden data that asks for logins and has rules, and what its users see: for the maker and the tests of it."""

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from headrace.admin.admin import Admin
from headrace.backup.features import feature_levels
from headrace.base.bootstrap import parse_bootstrap
from headrace.cli.app import run
from headrace.client.security import security_from

HOST = "127.0.0.1"
SECONDS = 120
BROKER, ADMIN = "broker", "admin"
PASSWORDS = {BROKER: "secret-0", ADMIN: "secret-1", "al": "se=cr,et ä:2", "bo": "secret-3", "gw": "secret-4"}
REFUSED = "refused"
# Tokens that a later year still takes.
CENTURY_MS = 100 * 365 * 24 * 3_600_000
TOPICS = ("orders", "orders.dead-letters", "payroll")
Login = dict[str, str]


def settings_of(port: int, inside: int) -> dict[str, str]:
    """Two listeners, so that the broker's registration has its endpoints."""
    login = f'ScramLoginModule required username="{BROKER}" password="{PASSWORDS[BROKER]}";'
    return {
        "listeners": f"OUT://{HOST}:{port},IN://{HOST}:{inside}",
        "listener.security.protocol.map": "OUT:SASL_PLAINTEXT,IN:SASL_PLAINTEXT",
        "inter.broker.listener.name": "IN",
        "listener.name.in.scram-sha-512.sasl.jaas.config": login,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{BROKER};User:{ADMIN}",
        "delegation.token.max.lifetime.ms": str(CENTURY_MS),
        "delegation.token.expiry.time.ms": str(CENTURY_MS),
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        "log.retention.ms": "-1",
    }


class Asked(NamedTuple):
    code: int
    out: str


class Callers:
    """Commands and clients of users of one cluster."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self._folder = folder

    def login(self, user: str, mechanism: str = "SCRAM-SHA-512") -> Login:
        return self._login(mechanism, user, PASSWORDS[user])

    def login_by_token(self, token: str) -> Login:
        return self._login("PLAIN", "anybody", token)

    def _login(self, mechanism: str, user: str, password: str) -> Login:
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
        }

    def file(self, name: str, login: Login) -> Path:
        path = self._folder / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in login.items()))
        path.chmod(0o600)
        return path

    def ask(self, login: Login, *words: str) -> Asked:
        printed = StringIO()
        with _config(self.file("asked", login)), redirect_stdout(printed), redirect_stderr(StringIO()):
            code = run(words)
        return Asked(code, printed.getvalue())

    def told(self, *words: str, user: str = ADMIN) -> Any:
        """What a command of a user's says as JSON."""
        asked = self.ask(self.login(user), *words, "--json")
        assert asked.code == 0, (words, asked)
        return json.loads(asked.out) if asked.out else None


def seen(callers: Callers) -> dict[str, Any]:
    """Users and their rights, rules, and feature levels: what a backup brings back too."""
    return {
        "users": callers.told("user", "list"),
        "rules": callers.told("acl", "list"),
        "features": asyncio.run(_levels(callers)),
        "rights": {user: rights(callers, callers.login(user)) for user in PASSWORDS},
        "by PLAIN": rights(callers, callers.login("al", "PLAIN")),
        "by SCRAM-SHA-256": rights(callers, callers.login("al", "SCRAM-SHA-256")),
    }


def seen_of_tokens(callers: Callers, tokens: Mapping[str, str]) -> dict[str, Any]:
    return {
        "listed": callers.told("token", "list"),
        "rights": {name: rights(callers, callers.login_by_token(token)) for name, token in tokens.items()},
    }


def rights(callers: Callers, login: Login) -> Any:
    """What the broker says that a login may do with each topic that it sees, and with a group."""
    if callers.ask(login, "topic", "list").code:
        return REFUSED
    admin = AdminClient({**login, "log_level": 0})
    visible = [name for name in admin.list_topics(timeout=SECONDS).topics if name in TOPICS]
    topics = admin.describe_topics(TopicCollection(visible), include_authorized_operations=True) if visible else {}
    return {name: _names(each.result(SECONDS).authorized_operations) for name, each in topics.items()}


def _names(operations: Any) -> list[str]:
    return sorted(each.name for each in operations)


async def _levels(callers: Callers) -> dict[str, int]:
    admin = Admin(parse_bootstrap(callers.bootstrap), "golden", security_from(callers.login(ADMIN)))
    try:
        return dict((await feature_levels(admin)).now)
    finally:
        admin.close()


@contextmanager
def _config(file: Path) -> Iterator[None]:
    """The file of client settings for commands of this process."""
    before = {name: os.environ.pop(name, None) for name in ("HEADRACE_CONFIG", "HEADRACE_BOOTSTRAP")}
    os.environ["HEADRACE_CONFIG"] = str(file)
    try:
        yield
    finally:
        os.environ.pop("HEADRACE_CONFIG")
        os.environ.update({name: value for name, value in before.items() if value is not None})
