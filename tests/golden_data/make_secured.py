"""Makes golden data of a cluster with logins and rules: its data directory, a backup of it, and what its gateway keeps.

    python -m tests.golden_data.make_secured              of the working tree
    python -m tests.golden_data.make_secured 58a06ff      of a commit or tag

Beside this file: secured-VERSION-COMMIT.tar.xz, with `data`, left by kill -9 after a second life, `backups`, `keys` of
webhooks, and seen.json: what users, tokens and the gateway's callers saw. Make one for every release and change none:
`test_golden_secured` opens all.
"""

import asyncio
import base64
import io
import json
import lzma
import os
import secrets
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from chaos.cluster import Child
from cluster_view import records_of
from golden_data.callers import ADMIN, HOST, PASSWORDS, SECONDS, TOPICS, Callers, seen, seen_of_tokens, settings_of
from golden_data.fill import OLD_LEVEL
from golden_data.make import LEFT_OUT, keep, release, started
from golden_data.make_beyond import GatewayOf
from headrace.admin.admin import Admin
from headrace.backup.features import set_feature_levels
from headrace.base.bootstrap import parse_bootstrap
from headrace.cli.run.ports import free_port
from headrace.cli.run.serve_options import ServeOptions
from headrace.client.security import security_from

HOOKS, SLOTS = "_headrace_webhooks", "_headrace_idempotency"
KEY, BODY = "order-1", b'{"messages": [{"key": "a", "value": "one"}, {"key": "b", "value": "two"}]}'
RULES = (
    "allow --user al --read --write --topic orders",
    "allow --user al --read --write --topic orders.dead-letters",
    "allow --user al --read --group webhook.al.*",
    "allow --user bo --read --write --topic pay*",
    "allow --user bo --write --topic orders",
    "deny --user bo --write --topic payroll",
    "deny --user al --write --topic orders --host 10.0.0.0/8",
    f"allow --user gw --read --write --create --topic {HOOKS}",
    "allow --user gw --delete --group webhook.*",
    *(f"allow --user {user} --read --write --create --topic {SLOTS}.{user}" for user in ("al", "bo")),
    *(f"allow --user {user} --write --txn-id headrace-rest.{user}.*" for user in ("al", "bo")),
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name)
        of, sources = release(sys.argv[1:], folder)
        keep(f"secured-{of}.tar.xz", made(folder, sources))


def made(folder: Path, sources: Path) -> bytes:
    _add_users(folder, sources)
    broker = _broker(folder, sources)
    try:
        callers = Callers(started(broker), folder)
        _fill(callers)
        tokens = _tokens(callers, folder)
        gateway = _gateway_records(callers, broker, folder, sources)
        all_seen = {"seen": seen(callers), "gateway": gateway, "backup": _backed_up(callers, folder, sources)}
        broker.stop()
        started(broker)
        callers.told("acl", "allow", "--user", "bo", "--describe", "--topic", "payroll*")
        all_seen |= {"seen later": seen(callers), "tokens": tokens, "seen of tokens": seen_of_tokens(callers, tokens)}
    finally:
        broker.kill()
    (folder / "seen.json").write_text(json.dumps(all_seen, indent=1))
    return _packed(folder)


def _broker(folder: Path, sources: Path) -> Child:
    port = free_port(HOST)
    options = ServeOptions(
        port=port, metrics_port=0, data=str(folder / "data"), settings=settings_of(port, free_port(HOST))
    )
    return Child(options, lambda command: ["env", f"PYTHONPATH={sources}", *command])


def _add_users(folder: Path, sources: Path) -> None:
    """Before the first start, by that release's own command."""
    for user, password in PASSWORDS.items():
        file = folder / user
        file.write_text(password)
        _headrace(sources, "user", "add", user, "--password-file", str(file), "--data", str(folder / "data"))


def _headrace(sources: Path, *words: str) -> bytes:
    command = [sys.executable, "-m", "headrace.cli", *words]
    return subprocess.check_output(command, env={**os.environ, "PYTHONPATH": str(sources)}, timeout=SECONDS)


def _backed_up(callers: Callers, folder: Path, sources: Path) -> str:
    """The id of a backup by that release's own command."""
    login = callers.file("backup", callers.login(ADMIN))
    where = ["--bootstrap", callers.bootstrap, "--client-config", str(login)]
    told = _headrace(sources, "backup", "create", str(folder / "backups"), "--json", *where)
    return str(json.loads(told)["backup"])


def _fill(callers: Callers) -> None:
    login = callers.login(ADMIN)
    admin = AdminClient(login)
    for topic in admin.create_topics([NewTopic(name, 1) for name in TOPICS]).values():
        topic.result(SECONDS)
    for rule in RULES:
        callers.told("acl", *rule.split())
    producer = Producer(login)
    producer.produce("orders", b"by the administrator")
    assert producer.flush(SECONDS) == 0
    asyncio.run(_set_levels(callers))


async def _set_levels(callers: Callers) -> None:
    admin = Admin(parse_bootstrap(callers.bootstrap), "fill", security_from(callers.login(ADMIN)))
    await set_feature_levels(admin, OLD_LEVEL)
    admin.close()


def _tokens(callers: Callers, folder: Path) -> dict[str, str]:
    """By name; of `whole` one that was narrowed is revoked, and another is not."""
    made = {name: callers.told("token", "create", "--everything", user="al") for name in ("whole", "ended")}
    made["limited"] = callers.told("token", "create", "--read", "orders", "--from", "127.0.0.0/8", user="al")
    callers.told("token", "revoke", made["ended"]["id"], user="al")
    tokens = {name: str(each["token"]) for name, each in made.items()}
    file = folder / "token"
    file.write_text(tokens["whole"])
    for name, operation in (("narrowed", "--read"), ("revoked", "--write")):
        tokens[name] = str(callers.told("token", "narrow", str(file), operation, "orders")["token"])
    file.write_text(tokens["revoked"])
    callers.told("token", "revoke", "--token", str(file), user="al")
    return tokens


# -- the gateway -----------------------------------------------------------------------------------------------------


def _gateway_records(callers: Callers, broker: Child, folder: Path, sources: Path) -> dict[str, Any]:
    (folder / "keys").write_text(base64.b64encode(secrets.token_bytes(32)).decode())
    anybody = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512"}
    words = [
        f"--client-config={callers.file('anybody', anybody)}",
        f"--service-config={callers.file('own', callers.login('gw'))}",
        f"--set=webhook_keys={folder / 'keys'}",
        "--set=webhook_networks=127.0.0.0/8",
    ]
    gateway = GatewayOf(sources, broker.options, folder, words)
    gateway.start()
    try:
        gateway.until_ready(SECONDS)
        return _answered(gateway.url, callers)
    finally:
        gateway.kill()


def _answered(url: str, callers: Callers) -> dict[str, Any]:
    hook = {"topic": "orders", "callback_url": f"http://{HOST}:9/", "dead_letter_topic": "orders.dead-letters"}
    made = _asked(f"{url}/api/v1/webhooks", "al", json.dumps(hook).encode())
    of_it = f"{url}/api/v1/webhooks/{made['id']}"
    _asked(f"{of_it}/pause", "al", b"{}")
    replies = {
        user: _asked(f"{url}/api/v1/topics/orders/messages", user, BODY, {"Idempotency-Key": KEY})
        for user in ("al", "bo")
    }
    login = callers.login(ADMIN)
    partitions = AdminClient(login).list_topics(timeout=SECONDS).topics
    return {
        "records": {
            name: [
                each
                for number in partitions[name].partitions
                for each in records_of(callers.bootstrap, name, number, login=login)
            ]
            for name in (HOOKS, *(f"{SLOTS}.{user}" for user in replies))
        },
        "webhook": {**_asked(of_it, "al"), "secret": made["secret"]},
        "post": {"topic": "orders", "key": KEY, "body": BODY.decode(), "replies": replies},
    }


def _asked(url: str, user: str, body: bytes | None = None, more: dict[str, str] | None = None) -> Any:
    login = base64.b64encode(f"{user}:{PASSWORDS[user]}".encode()).decode()
    headers = {"content-type": "application/json", "Authorization": f"Basic {login}", **(more or {})}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=SECONDS) as reply:
        return json.loads(reply.read() or b"null")


def _packed(folder: Path) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        for top in ("seen.json", "keys", "backups", "data"):
            tar.add(folder / top, top, filter=lambda info: None if Path(info.name).name in LEFT_OUT else info)
    return lzma.compress(whole.getvalue(), preset=9 | lzma.PRESET_EXTREME)


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    main()
