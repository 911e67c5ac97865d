"""`headrace acl …` and kafka-acls.sh against a broker that goes by rules; the commands speak Kafka's protocol only."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from acl_rig import guarded_broker
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from clients import console
from clients.build import MissingTool, java_classpath
from headrace.cli import app
from headrace.testing import Broker

ALLOW = AclPermissionType.ALLOW
SECONDS = 30.0
ACLS = "org.apache.kafka.tools.AclCommand"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with guarded_broker(**{"super.users": "User:admin; User:ANONYMOUS"}) as broker:
        yield broker


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(broker: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", broker.bootstrap)

    def ran(*arguments: str) -> Ran:
        code = app.run(["acl", *arguments])
        return Ran(code, *capsys.readouterr())

    return ran


def rules_of(run: Run, user: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = run("list", "--user", user, "--json").json
    return found


def test_rules_are_made_shown_and_deleted(run: Run) -> None:
    made = run("allow", "--user", "alice", "--read", "--describe-configs", "--topic", "orders", "--group", "billing-*")
    assert made.code == 0
    assert "allow User:alice to read topic orders" in made.out.splitlines()
    assert "allow User:alice to read group billing-*" in made.out.splitlines()
    assert run("deny", "--user", "alice", "--write", "--topic", "*", "--host", "10.0.0.0/8").code == 0
    found = rules_of(run, "alice")
    assert len(found) == 5
    assert {
        "permission": "deny",
        "principal": "User:alice",
        "host": "10.0.0.0/8",
        "operation": "write",
    }.items() <= next(each.items() for each in found if each["permission"] == "deny")
    assert {(each["name"], each["pattern"]) for each in found if each["resource"] == "group"} == {
        ("billing-", "prefixed")
    }
    assert run("delete", "--user", "alice", "--group", "billing-*", "--yes").out == "deleted 2 rules\n"
    assert len(rules_of(run, "alice")) == 3
    assert run("delete", "--user", "alice", "--permission", "deny", "--yes").out == "deleted 1 rule\n"
    assert run("delete", "--user", "alice", "--yes", "--json").json
    assert rules_of(run, "alice") == []


def test_a_rule_that_is_made_twice_is_there_once(run: Run) -> None:
    for _ in range(2):
        assert run("allow", "--user", "twice", "--all", "--cluster").code == 0
    assert len(rules_of(run, "twice")) == 1


def test_list_shows_all_that_applies_to_a_name(run: Run) -> None:
    for name in ("bills", "bil*", "*", "others"):
        assert run("allow", "--user", "bob", "--read", "--topic", name).code == 0
    found = run("list", "--user", "bob", "--topic", "bills", "--json").json
    assert {(each["name"], each["pattern"]) for each in found} == {
        ("bills", "literal"),
        ("bil", "prefixed"),
        ("*", "literal"),
    }
    assert [each["name"] for each in run("list", "--user", "bob", "--topic", "bil*", "--json").json] == ["bil"]
    assert "User:bob" in run("list").out


def test_delete_asks_first_and_never_deletes_all(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("allow", "--user", "kept", "--read", "--topic", "t").code == 0
    refused = run("delete", "--yes")
    assert (refused.code, "every rule" in refused.err) == (2, True)
    asked: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda text: asked.append(text))
    shown = run("delete", "--user", "kept")
    assert (shown.code, asked) == (4, ["Delete 1 rule?"])
    assert "User:kept" in shown.out
    assert len(rules_of(run, "kept")) == 1
    assert run("delete", "--user", "nobody", "--yes").code == 3
    assert run("delete", "--user", "kept", "--json").code == 2


def test_test_names_the_rule_that_decides(run: Run) -> None:
    assert run("allow", "--user", "carol", "--write", "--topic", "ord*").code == 0
    allowed = run("test", "--user", "carol", "--write", "--describe", "--topic", "orders")
    assert allowed.code == 0
    assert "allowed: User:carol to write topic orders: a rule allows it: allow User:carol to write topic ord*" in (
        allowed.out
    )
    assert run("deny", "--user", "*", "--write", "--topic", "orders", "--host", "10.0.0.0/8").code == 0
    denied = run("test", "--user", "carol", "--write", "--topic", "orders", "--host", "10.1.1.1", "--json")
    assert (denied.code, denied.json[0]["allowed"], denied.json[0]["rule"]["principal"]) == (4, False, "User:*")
    assert run("test", "--user", "carol", "--write", "--topic", "orders", "--host", "11.1.1.1").code == 0
    none = run("test", "--user", "carol", "--read", "--topic", "orders")
    assert (none.code, "no rule allows it" in none.out) == (4, True)
    assert "super user" in run("test", "--user", "admin", "--alter", "--cluster").out


@pytest.mark.parametrize(
    "wrong",
    [
        ["allow", "--read", "--topic", "t"],
        ["allow", "--user", "a", "--topic", "t"],
        ["allow", "--user", "a", "--read"],
        ["allow", "--user", "a", "--principal", "User:b", "--read", "--topic", "t"],
        ["allow", "--principal", "alice", "--read", "--topic", "t"],
        ["list", "--permission", "maybe"],
    ],
)
def test_what_is_missing_is_said(run: Run, wrong: list[str]) -> None:
    said = run(*wrong)
    assert (said.code, "fix:" in said.err) == (2, True)


def test_a_rule_that_no_broker_takes_is_refused(run: Run) -> None:
    said = run("allow", "--user", "a", "--read", "--topic", "t", "--host", "example.org")
    assert (said.code, "CIDR" in said.err) == (4, True)


def test_without_an_authorizer_it_is_said_how_to_have_one(
    run: Run, bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", bootstrap)
    for command in (["list"], ["allow", "--user", "a", "--read", "--topic", "t"]):
        said = run(*command)
        assert (said.code, "authorizer.class.name" in said.err) == (4, True)


# -- other clients -----------------------------------------------------------------------------------------------------


def test_librdkafka_makes_lists_and_deletes_rules(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    names = ("rd-1", "rd-2")
    made = [
        AclBinding(ResourceType.TOPIC, name, ResourcePatternType.LITERAL, "User:rd", "*", AclOperation.READ, ALLOW)
        for name in names
    ]
    for future in admin.create_acls(made).values():
        assert future.result(SECONDS) is None
    # The answers come in the order of the rules: one that is refused is told by its own.
    (wrong,) = admin.create_acls(
        [AclBinding(ResourceType.TOPIC, "t", ResourcePatternType.LITERAL, "nobody", "*", AclOperation.READ, ALLOW)]
    ).values()
    with pytest.raises(KafkaException) as refused:
        wrong.result(SECONDS)
    assert refused.value.args[0].code() == KafkaError.INVALID_REQUEST
    of_rd = AclBindingFilter(
        ResourceType.TOPIC, None, ResourcePatternType.ANY, "User:rd", None, AclOperation.ANY, AclPermissionType.ANY
    )
    assert {acl.name for acl in admin.describe_acls(of_rd).result(SECONDS)} == set(names)
    (deleted,) = admin.delete_acls([of_rd]).values()
    assert {acl.name for acl in deleted.result(SECONDS)} == set(names)
    assert admin.describe_acls(of_rd).result(SECONDS) == []


# -- Kafka's own tool --------------------------------------------------------------------------------------------------


@pytest.fixture
def kafka_acls(broker: Broker) -> Callable[..., str]:
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    return lambda *options, **rest: console.run(broker.bootstrap, ACLS, *options, **rest)


@pytest.mark.long
def test_kafkas_tool_makes_lists_and_removes_rules(kafka_acls: Callable[..., str], run: Run, tmp_path: Path) -> None:
    who = ["--allow-principal", "User:java"]
    kafka_acls("--add", *who, "--producer", "--topic", "j-", "--resource-pattern-type", "prefixed")
    kafka_acls(
        "--add", "--deny-principal", "User:java", "--deny-host", "10.0.0.1", "--operation", "All", "--topic", "j-9"
    )
    assert {(each["permission"], each["operation"], each["pattern"]) for each in rules_of(run, "java")} == {
        ("allow", "write", "prefixed"),
        ("allow", "create", "prefixed"),
        ("allow", "describe", "prefixed"),
        ("deny", "all", "literal"),
    }
    listed = kafka_acls("--list", "--topic", "j-9", "--resource-pattern-type", "match")
    assert "principal=User:java, host=*, operation=WRITE, permissionType=ALLOW" in listed
    assert "principal=User:java, host=10.0.0.1, operation=ALL, permissionType=DENY" in listed
    kafka_acls("--remove", "--topic", "j-9", "--resource-pattern-type", "match", "--force")
    assert rules_of(run, "java") == []


@pytest.mark.long
def test_kafkas_tool_is_refused_without_the_right(kafka_acls: Callable[..., str], tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("client.id=User:nobody\n")
    refused = kafka_acls("--list", "--command-config", str(config), expect=1)
    assert "ClusterAuthorizationException" in refused
