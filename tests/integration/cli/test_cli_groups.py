"""Groups by command line: what is shown is what real consumers did; what is reset is where they begin again."""

import json
import uuid

import pytest
from confluent_kafka import Consumer, TopicPartition

from clients.client import Record
from clients.confluent import Confluent
from eventually import until
from headrace.admin.lag import get_lag

FIRST_MS = 1_700_000_000_000


@pytest.fixture
def group() -> str:
    return f"g-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def filled(new_topic, reference: Confluent) -> str:
    """Two partitions with ten records each, a second apart."""
    topic = new_topic(partitions=2)
    for partition in (0, 1):
        records = [Record(None, b"v", timestamp_ms=FIRST_MS + 1000 * number) for number in range(10)]
        reference.produce(topic, records, partition=partition)
    return topic


@pytest.fixture
def commit(bootstrap: str, group: str):
    """As a consumer that assigns its partitions itself commits."""

    def commit(topic: str, **offsets: int) -> None:
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        places = [TopicPartition(topic, int(name[1:]), offset) for name, offset in offsets.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    return commit


def committed(bootstrap: str, group: str) -> dict[int, int]:
    return {each.id.partition: each.committed for each in get_lag(bootstrap, group)}


def test_list_describe_lag_and_delete(cli, bootstrap, group, filled, commit) -> None:
    commit(filled, p0=4, p1=10)
    listed = {row["group"]: row for row in cli("group", "list", "--json").json}
    assert listed[group] == {"group": group, "state": "empty", "type": "classic", "members": 0}

    view = cli("group", "describe", group, "--json").json
    assert view["state"] == "empty"
    assert view["members"] == []
    row = {"topic": filled, "metadata": "", "member": None, "end": 10}
    assert view["partitions"] == [
        {**row, "partition": 0, "committed": 4, "lag": 6},
        {**row, "partition": 1, "committed": 10, "lag": 0},
    ]
    by_topic = {"topic": filled, "partitions": 2, "lag": 6, "worst": 6}
    assert cli("group", "lag", group, "--json").json == {"group": group, "lag": 6, "topics": [by_topic]}
    assert [(each.id, each.lag) for each in get_lag(bootstrap, group)] == [((filled, 0), 6), ((filled, 1), 0)]

    assert cli("group", "delete", group, stdin=b"n\n").code == 4
    assert cli("group", "delete", group, "--yes", "--json").json == [{"group": group}]
    assert cli("group", "describe", group).code == 3
    assert get_lag(bootstrap, group) == []


@pytest.mark.parametrize(("protocol", "assignor"), [("classic", "range"), ("consumer", "uniform")])
def test_members_are_shown_and_protect_their_group(cli, bootstrap, group, filled, protocol, assignor) -> None:
    # On a very busy machine librdkafka may still commit after it was closed, as nobody's member.
    settings = {"group.id": group, "group.protocol": protocol, "client.id": "till", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    try:
        consumer.subscribe([filled])
        until(lambda: consumer.poll(0.1) is None and len(consumer.assignment()) == 2)
        [member] = cli("group", "members", group, "--json").json
        assert member["client"] == "till"
        assert member["host"] == "127.0.0.1"
        assert member["partitions"] == [f"{filled}-0", f"{filled}-1"]
        view = cli("group", "describe", group, "--json").json
        assert (view["state"], view["type"], view["assignor"]) == ("stable", protocol, assignor)
        assert {row["member"] for row in view["partitions"]} == {member["member"]}
        for words in (["reset", group, "--topic", filled, "--to-latest", "--yes"], ["delete", group, "--yes"]):
            refused = cli("group", *words)
            assert refused.code == 4, refused
            assert "1 active member" in refused.err
    finally:
        consumer.close()
    assert cli("group", "reset", group, "--topic", filled, "--to-offset", "7", "--yes").code == 0
    assert committed(bootstrap, group) == {0: 7, 1: 7}
    listed = {row["group"]: row for row in cli("group", "list", "--json").json}
    assert listed[group] == {"group": group, "state": "empty", "type": protocol, "members": 0}
    assert cli("group", "delete", group, "--yes").code == 0


@pytest.mark.parametrize(
    ("options", "after"),
    [
        (["--to-earliest"], [0, 0]),
        (["--to-time", str(FIRST_MS + 2500)], [3, 3]),
        (["--by-duration", "1h"], [10, 10]),
        (["--shift-by", "-5"], [0, 4]),
    ],
)
def test_a_plan_says_where_each_option_leads(cli, bootstrap, group, filled, commit, options, after) -> None:
    commit(filled, p0=4, p1=9)
    plan = cli("group", "reset", group, *options, "--dry-run", "--json").json
    assert not plan["applied"]
    assert [row["after"] for row in plan["partitions"]] == after
    assert [row["before"] for row in plan["partitions"]] == [4, 9]
    moved = [(row["skipped"], row["repeated"]) for row in plan["partitions"]]
    assert moved == [(max(0, to - was), max(0, was - to)) for was, to in zip([4, 9], after, strict=True)]
    assert committed(bootstrap, group) == {0: 4, 1: 9}


def test_reset_shows_its_plan_asks_and_does_it(cli, bootstrap, group, filled, commit) -> None:
    commit(filled, p0=4, p1=9)
    refused = cli("group", "reset", group, "--to-offset", "6", stdin=b"n\n")
    assert refused.code == 4
    assert "2 messages would be skipped, 3 messages read again" in refused.text
    assert committed(bootstrap, group) == {0: 4, 1: 9}
    assert cli("group", "reset", group, "--to-offset", "6", stdin=b"y\n").code == 0
    assert committed(bootstrap, group) == {0: 6, 1: 6}
    assert cli("group", "reset", group, "--topic", f"{filled}:1", "--to-latest", "--yes").code == 0
    assert committed(bootstrap, group) == {0: 6, 1: 10}


def test_reset_from_a_file_and_of_a_new_group(cli, bootstrap, group, filled, tmp_path) -> None:
    offsets = tmp_path / "offsets.csv"
    offsets.write_text(f'"{filled}",0,3\n{filled},1,8\n')
    ran = cli("group", "reset", group, "--from-file", str(offsets), "--yes", "--json")
    assert ran.code == 0, ran.err
    assert [row["before"] for row in ran.json["partitions"]] == [None, None]
    assert committed(bootstrap, group) == {0: 3, 1: 8}


def test_refusals_have_their_codes(cli, group, filled, commit, tmp_path) -> None:
    commit(filled, p0=1)
    damaged = tmp_path / "damaged.csv"
    damaged.write_text("no numbers here\n")
    reset = ["group", "reset", group]
    cases = [
        (["group", "describe", "nobody"], 3, "no group nobody"),
        (["group", "delete", group], 2, "--yes"),
        ([*reset, "--to-latest"], 2, "--yes"),
        ([*reset, "--from-file", str(damaged), "--yes"], 2, "line 1"),
        ([*reset, "--topic", f"{filled}:7", "--to-latest", "--yes"], 3, "no partition 7"),
        ([*reset, "--topic", f"{filled}:1", "--shift-by", "1", "--yes"], 2, "no commit to shift"),
        (["group", "reset", "nobody", "--to-latest", "--yes"], 3, "no group nobody"),
    ]
    for words, code, cause in cases:
        ran = cli(*words, "--json")
        assert ran.code == code, (words, ran)
        said = json.loads(ran.err)
        assert cause.lower() in (said["error"] + said["fix"]).lower(), (words, said)
        assert ran.out == b"", (words, ran)


def test_text_forms(cli, group, filled, commit) -> None:
    commit(filled, p0=4)
    assert group in cli("group", "list").text
    described = cli("group", "describe", group).text
    for word in ("coordinator", "COMMITTED", "LAG", filled):
        assert word in described
    assert f"lag of {group}: 6" in cli("group", "lag", group).text
    assert "nobody is in group" in cli("group", "members", group).err


def test_consume_as_a_member_goes_on_where_the_group_ended(cli, bootstrap, group, filled, reference) -> None:
    first = cli("consume", filled, "--group", group, "-n", "7", "--json")
    assert first.code == 0, first.err
    rest = cli("consume", filled, "--group", group, "--json")
    places = [(each["partition"], each["offset"]) for each in (*first.json_lines, *rest.json_lines)]
    assert sorted(places) == [(partition, offset) for partition in (0, 1) for offset in range(10)]
    assert committed(bootstrap, group) == {0: 10, 1: 10}
    assert cli("consume", filled, "--group", group, "--partition", "0").code == 2
