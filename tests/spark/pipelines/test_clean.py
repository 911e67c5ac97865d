"""Clean: what fits its schema goes on, enriched; what does not is kept with its reason; each record once."""

import json

import pytest
from pipeline_topics import records_of, send

from headrace.base.errors import UserError
from headrace.pipelines.checks import check_of, read_schema
from headrace.pipelines.clean import clean

ORDER = {
    "type": "object",
    "required": ["id", "amount"],
    "properties": {"id": {"type": "integer"}, "amount": {"type": "number", "minimum": 0}},
}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "order.json"
    path.write_text(json.dumps(ORDER))
    return path


@pytest.mark.parametrize(
    "value, reason",
    [
        (b'{"id": 1, "amount": 2.5}', None),
        (b'{"id": 1}', 'value: "amount" is a required property'),
        (b'{"id": "x", "amount": 1}', 'id: "x" is not of type "integer"'),
        (b'{"id": 1, "amount": -1}', "amount: -1 is less than the minimum of 0"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (None, "value: null is not of type"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_value_fits_or_says_why(schema, value, reason):
    found = check_of(read_schema(schema, "json"))(value).reason
    assert found is None if reason is None else reason in found


def test_what_is_no_schema_is_refused(tmp_path):
    for text in ("", '{"type": 5}', '{"type": "nothing"}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(UserError):
            read_schema(tmp_path / "bad.json", "json")
    with pytest.raises(UserError, match="no such file"):
        read_schema(tmp_path / "nowhere.json", "json")


def test_a_topic_is_sorted_and_enriched(spark, broker, new_topic, tmp_path, schema):
    topic = new_topic(2)
    customers = tmp_path / "customers.csv"
    customers.write_text("customer,name,amount\n1,Ada,999\n2,Bob,999\n")
    orders = [(b"%d" % n, {"id": n, "amount": n, "customer": n % 3}) for n in range(60)]
    send(broker.bootstrap, topic, [*orders, (b"bad", b"nothing"), (b"bad", {"id": 1})])
    arguments = {"bootstrap": broker.bootstrap, "join": customers, "on": "customer", "spark": spark}
    report = clean(topic, schema, batch_rows=40, **arguments)
    assert (report.rows, report.good, report.bad) == (62, 60, 2) and report.batches > 1
    assert sum(report.reasons.values()) == 2
    assert clean(topic, schema, **arguments).rows == 0

    good = [json.loads(content[1]) for _, _, content in records_of(broker.bootstrap, f"{topic}.clean")]
    assert sorted(value["id"] for value in good) == list(range(60))
    names = {1: "Ada", 2: "Bob"}
    for value in good:
        assert value.get("name") == names.get(value["customer"]) and value["amount"] == value["id"]
    bad = [content for _, _, content in records_of(broker.bootstrap, f"{topic}.dead")]
    assert sorted(content[1] for content in bad) == [b"nothing", b'{"id": 1}']
    for key, _, headers, _ in bad:
        said = dict(headers)
        assert key == b"bad" and said["headrace.topic"] == topic.encode()
        assert b"not JSON" in said["headrace.error"] or b"required" in said["headrace.error"]


def test_what_cannot_be_done_is_said_before_anything_is_read(spark, broker, new_topic, tmp_path, schema):
    topic = new_topic()
    with pytest.raises(UserError, match="belong together"):
        clean(topic, schema, join=tmp_path / "x.csv", bootstrap=broker.bootstrap, spark=spark)
    with pytest.raises(UserError, match="into itself"):
        clean(topic, schema, good=topic, bootstrap=broker.bootstrap, spark=spark)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="no column nothing"):
        clean(topic, schema, join=tmp_path / "x.csv", on="nothing", bootstrap=broker.bootstrap, spark=spark)
