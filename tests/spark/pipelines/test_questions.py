"""SQL over topics and the statistics of one, and the commands as a person types them."""

import datetime
import json
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from pipeline_topics import send

from headrace.pipelines.sql import sql, view_of
from headrace.pipelines.traffic import traffic

START_MS = 1_790_000_000_000


def run_headrace(*arguments, stdin=None):
    command = [sys.executable, "-m", "headrace.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, input=stdin)


def test_a_topic_is_a_table(spark, broker, new_topic):
    orders, customers = new_topic(2), new_topic()
    send(broker.bootstrap, orders, [(b"k", {"id": n, "customer": n % 2, "timestamp": "late"}) for n in range(10)])
    send(broker.bootstrap, customers, [{"customer": 0, "name": "Ada"}, {"customer": 1, "name": "Bob"}])
    query = (
        f"select name, count(*), sum(id), max(value_timestamp), max(o.key) from {view_of(orders)} o "
        f"join {view_of(customers)} using (customer) group by name order by name"
    )
    rows = sql(query, bootstrap=broker.bootstrap, spark=spark).collect()
    assert [tuple(row) for row in rows] == [("Ada", 5, 20, "late", "k"), ("Bob", 5, 25, "late", "k")]


def test_a_topic_that_is_not_json_has_the_columns_of_its_records(spark, broker, new_topic):
    topic = new_topic()
    send(broker.bootstrap, topic, [(b"a", b"x"), (b"b", None)])
    found = sql(
        f"select key, value, offset from {view_of(topic)} order by offset", bootstrap=broker.bootstrap, spark=spark
    )
    assert [tuple(row) for row in found.collect()] == [("a", "x", 0), ("b", None, 1)]


@pytest.mark.parametrize("topic, view", [("orders", "orders"), ("a-b.c", "a_b_c"), ("9x", "_9x")])
def test_every_topic_has_a_name_in_sql(topic, view):
    assert view_of(topic) == view


def test_traffic_is_counted_to_the_record(spark, broker, new_topic, tmp_path):
    topic = new_topic(3)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for n in range(120):
        event = json.dumps({"at": START_MS + n * 1000 - 250, "pad": "x" * n}).encode()
        key = b"hot" if n % 2 else b"k%d" % n
        producer.produce(topic, event, key, partition=0 if n < 90 else 1, timestamp=START_MS + n * 1000)
    assert producer.flush(60) == 0
    picture, file = tmp_path / "traffic.png", tmp_path / "traffic.parquet"
    report = traffic(
        topic,
        bootstrap=broker.bootstrap,
        window_seconds=60,
        event_time="at",
        to=file,
        picture=picture,
        spark=spark,
    )
    assert (report.rows, [window["rows"] for window in report.windows]) == (120, report_rows(START_MS))
    assert [(each["partition"], each["rows"]) for each in report.partitions] == [(0, 90), (1, 30), (2, 0)]
    assert report.skew == 2.25
    assert (report.hot_keys[0]["key"], report.hot_keys[0]["rows"]) == ("hot", 60)
    for window in report.windows:
        assert window["delay_ms_p50"] == 250 and window["gap_ms_p50"] == 1000
        assert window["bytes_p50"] <= window["bytes_p99"] <= window["bytes_max"]
    assert pq.read_table(file).num_rows == len(report.windows)
    assert picture.read_bytes().startswith(b"\x89PNG")


def report_rows(start_ms):
    """Windows begin at whole minutes."""
    starts = [datetime.datetime.fromtimestamp(start_ms / 1000 + n, datetime.UTC).replace(second=0) for n in range(120)]
    return [starts.count(each) for each in sorted(set(starts))]


def test_an_empty_topic_has_no_traffic(spark, broker, new_topic):
    report = traffic(new_topic(), bootstrap=broker.bootstrap, spark=spark)
    assert (report.rows, report.windows, report.hot_keys, report.skew) == (0, [], [], 0)


@pytest.fixture
def topic(broker, new_topic):
    name = new_topic(2)
    send(broker.bootstrap, name, [{"id": n} for n in range(20)])
    return name


@pytest.fixture
def at(broker):
    return ["--bootstrap", broker.bootstrap, "--master", "local[2]"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_sql_as_typed(topic, at):
    counted = run_headrace("pipeline", "sql", f"select count(*) n, sum(id) s from {view_of(topic)}", *at, "--json")
    assert json.loads(counted.stdout) == [{"n": 20, "s": 190}], counted.stderr
    wrong = run_headrace("pipeline", "sql", "select nothing from nowhere", *at)
    assert wrong.returncode == 1 and "nowhere" in wrong.stderr and "Traceback" not in wrong.stderr


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_shell_as_typed(topic, at):
    shell = run_headrace("spark", "-c", f"print(spark.sql('select max(id) m from {view_of(topic)}').first().m)", *at)
    assert shell.stdout.strip() == "19", shell.stderr
    typed = run_headrace("spark", *at, stdin=f"print('rows', topic('{topic}').count())\n")
    assert "rows 20" in typed.stdout and view_of(topic) in typed.stderr + typed.stdout, typed.stderr


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_table_and_back_as_typed(topic, at, tmp_path):
    table = run_headrace("pipeline", "lake", topic, "--to", tmp_path / "t", *at, "--json")
    assert json.loads(table.stdout)["rows"] == 20, table.stderr
    # Java has a line of its own to say first.
    progress = json.loads(next(line for line in table.stderr.splitlines() if line.startswith("{")))
    assert progress["pipeline"] == "lake" and progress["lag"] == 0
    back = run_headrace("pipeline", "replay", tmp_path / "t", "--to", f"{topic}-back", *at)
    assert back.returncode == 0 and "rows" in back.stdout, back.stderr


@pytest.mark.long
@pytest.mark.timeout(600)
def test_traffic_as_typed(topic, at):
    seen = run_headrace("pipeline", "traffic", topic, *at)
    assert seen.returncode == 0 and "partitions:" in seen.stdout, seen.stderr


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_lake_that_follows_ends_with_its_report(broker, new_topic, tmp_path):
    topic = new_topic()
    send(broker.bootstrap, topic, [{"id": n} for n in range(20)])
    command = [sys.executable, "-m", "headrace.cli", "pipeline", "lake", topic, "--to", str(tmp_path), "--follow"]
    command += ["--json", "--bootstrap", broker.bootstrap, "--master", "local[2]"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not (line := run.stderr.readline()).startswith("{"):
            assert line, "it ended by itself"
        run.send_signal(signal.SIGINT)
        report, errors = run.communicate(timeout=120)
    finally:
        run.kill()
        run.communicate(timeout=60)
    assert run.returncode == 0 and json.loads(report)["rows"] == 20, errors


def test_a_broker_that_is_not_there_is_said_at_once(tmp_path):
    for command in (
        ["pipeline", "lake", "orders", "--to", tmp_path],
        ["pipeline", "sql", "select 1"],
        ["pipeline", "mirror", "orders", "--from", "127.0.0.1:1", "--to", "127.0.0.1:1"],
        ["spark"],
    ):
        where = [] if "mirror" in command else ["--bootstrap", "127.0.0.1:1"]
        failed = run_headrace(*command, *where)
        assert failed.returncode == 5 and "no broker answers" in failed.stderr
