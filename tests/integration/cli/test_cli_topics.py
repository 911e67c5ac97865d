"""Topics by command line: each change is read back through the broker, each refusal has a cause, a fix and its code."""

import json


def test_create_list_describe_alter_delete(cli, new_name) -> None:
    topic = new_name()
    created = cli("topic", "create", topic, "--partitions", "3", "--config", "retention.ms=60000", "--json")
    assert created.code == 0, created.err
    assert created.json == {"topic": topic, "partitions": 3, "replication_factor": 1}

    listed = {row["topic"]: row for row in cli("topic", "list", "--json").json}
    assert listed[topic] == {"topic": topic, "partitions": 3, "replication_factor": 1, "internal": False}

    [view] = cli("topic", "describe", topic, "--json").json
    assert [part["partition"] for part in view["partitions"]] == [0, 1, 2]
    leader = view["partitions"][0]["leader"]
    assert view["partitions"][0] == {
        "partition": 0,
        "leader": leader,
        "replicas": [leader],
        "isr": [leader],
        "start_offset": 0,
        "end_offset": 0,
    }
    assert {"name": "retention.ms", "value": "60000", "source": "topic"} in view["configs"]
    assert {"name": "cleanup.policy", "value": "delete", "source": "default"} in view["configs"]

    altered = cli(
        "topic", "alter", topic, "--partitions", "5", "--config", "segment.ms=70000", "--delete-config", "retention.ms"
    )
    assert altered.code == 0, altered.err
    [view] = cli("topic", "describe", topic, "--json").json
    assert len(view["partitions"]) == 5
    configs = {config["name"]: config for config in view["configs"]}
    assert configs["segment.ms"] == {"name": "segment.ms", "value": "70000", "source": "topic"}
    assert configs["retention.ms"]["source"] == "default"

    deleted = cli("topic", "delete", topic, "--yes", "--json")
    assert deleted.json == [{"topic": topic, "partitions": 5, "messages": 0}]
    assert topic not in {row["topic"] for row in cli("topic", "list", "--json").json}


def test_text_forms(cli, topic) -> None:
    assert topic in cli("topic", "list").text
    described = cli("topic", "describe", topic).text
    for word in ("PARTITION", "LEADER", "ISR", "START", "END", "--all-configs"):
        assert word in described
    assert "cleanup.policy" not in described
    assert "cleanup.policy" in cli("topic", "describe", topic, "--all-configs").text


def test_delete_shows_what_would_go_and_asks(cli, topic) -> None:
    cli("produce", topic, stdin=b"a\nb\nc\n")
    refused = cli("topic", "delete", topic, stdin=b"n\n")
    assert refused.code == 4
    assert "with 3 messages" in refused.text
    assert cli("topic", "describe", topic).code == 0
    assert cli("topic", "delete", topic, stdin=b"y\n").code == 0
    assert cli("topic", "describe", topic).code == 3


def test_refusals_have_their_codes(cli, topic, new_name) -> None:
    cases = [
        (["topic", "create", topic], 4, "exists"),
        (["topic", "create", "bad name"], 4, "bad name"),
        (["topic", "create", new_name(), "--config", "no.such.config=1"], 4, "no.such.config"),
        (["topic", "create", new_name(), "--replication-factor", "9"], 4, "replication factor"),
        (["topic", "create", new_name(), "--config", "novalue"], 2, "NAME=VALUE"),
        (["topic", "alter", topic], 2, "nothing to change"),
        (["topic", "alter", topic, "--partitions", "1"], 4, topic),
        (["topic", "alter", new_name(), "--config", "retention.ms=1"], 3, "not altered"),
        (["topic", "alter", topic, "--config", "retention.ms=soon"], 4, "retention.ms"),
        (["topic", "describe", new_name()], 3, "topic"),
        (["topic", "delete", new_name(), "--yes"], 3, "topic"),
        (["topic", "delete", topic, "--json"], 2, "--yes"),
        (["topic", "nonsense"], 2, "nonsense"),
        (["topic", "create"], 2, "TOPIC"),
        (["topic", "list", "--bootstrap", "127.0.0.1:1"], 5, "no broker answers"),
        (["topic", "list", "--bootstrap", "nonsense"], 2, "HOST:PORT"),
    ]
    for words, code, cause in cases:
        ran = cli(*words, "--json") if "--json" not in words else cli(*words)
        assert ran.code == code, (words, ran)
        said = json.loads(ran.err)
        assert cause.lower() in (said["error"] + said["fix"]).lower(), (words, said)
        assert ran.out == b"", (words, ran)


def test_the_oldest_messages_of_a_topic_are_deleted_up_to_a_place(cli, run, new_name) -> None:
    topic = new_name()
    run("topic", "create", topic, "--partitions", "2")
    for partition in ("0", "1"):
        cli("produce", topic, "-p", partition, stdin=b"a\nb\nc\nd\n")
    refused = cli("topic", "delete-records", topic, "--before", "2", stdin=b"n\n")
    assert refused.code == 4 and "Delete 4 messages" in refused.text
    done = run("topic", "delete-records", topic, "--before", "3", "-p", "1", "--yes", "--json")
    assert done.json == [{"topic": topic, "partition": 1, "start": 0, "then": 3, "messages": 3}]
    assert run("topic", "delete-records", topic, "--before", "-2", "--yes").code == 0
    [view] = run("topic", "describe", topic, "--json").json
    assert [part["start_offset"] for part in view["partitions"]] == [2, 3]
    assert sorted(run("consume", topic).text.split()) == ["c", "d", "d"]
    for words, code, cause in (
        (["--before", "9"], 4, "ends at offset 4"),
        (["--before", "1", "-p", "7"], 3, "no partition 7"),
        (["--before", "soon"], 2, "--before soon"),
    ):
        ran = run("topic", "delete-records", topic, *words, "--yes", "--json")
        assert ran.code == code and cause in json.loads(ran.err)["error"], ran
    assert run("topic", "delete-records", topic, "--before", "latest", "--yes").code == 0
    assert run("consume", topic).text == ""
