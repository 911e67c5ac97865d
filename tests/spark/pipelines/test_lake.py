"""The lake against a real broker and real Spark: what is acknowledged is in the table, once, readable by others."""

import datetime
import io
import json

import duckdb
import fastavro
import pandas
import pyarrow.parquet as pq
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from pipeline_topics import ADMIN_SECONDS, send

from headrace.base.errors import UserError
from headrace.pipelines.lake import lake
from headrace.pipelines.tables.open import FORMATS, open_table


def rows_of(path, columns="*"):
    files = [file.path for file in open_table(path).files()]
    return duckdb.sql(
        f"select {columns} from read_parquet({files}, union_by_name=true) order by partition, kafka_offset"
    )


def committed_by(bootstrap, group):
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=ADMIN_SECONDS)
    return {place.partition: place.offset for place in asked[group].result(ADMIN_SECONDS).topic_partitions}


@pytest.mark.parametrize("format", FORMATS)
def test_a_topic_becomes_a_table_and_goes_on_where_it_was(spark, broker, new_topic, tmp_path, format):
    topic = new_topic(3)
    send(broker.bootstrap, topic, [(b"k%d" % (n % 7), {"id": n, "name": f"n{n}"}) for n in range(500)])
    first = lake(topic, tmp_path / "t", bootstrap=broker.bootstrap, format=format, spark=spark, batch_rows=200)
    assert (first.rows, first.undecoded, first.format) == (500, 0, format) and first.batches > 1
    send(broker.bootstrap, topic, [{"id": n, "new": {"x": n}} for n in range(500, 600)] + [b"not json", None])
    second = lake(topic, tmp_path / "t", bootstrap=broker.bootstrap, spark=spark)
    assert (second.rows, second.undecoded, second.format) == (102, 1, format)
    again = lake(topic, tmp_path / "t", bootstrap=broker.bootstrap, spark=spark)
    assert (again.rows, again.batches) == (0, 0)
    assert committed_by(broker.bootstrap, f"headrace-lake-{topic}-t") == again.offsets, "lag tools see the job"

    rows = rows_of(tmp_path / "t").df()
    assert len(rows) == 602 and not rows.duplicated(["partition", "kafka_offset"]).any()
    assert sorted(rows["id"].dropna().astype(int)) == list(range(600))
    assert set(rows["topic"]) == {topic}
    bad = rows[rows["decode_error"].notna()]
    assert [bytes(value) for value in bad["value"]] == [b"not json"]
    assert rows["new"].dropna().map(lambda new: new["x"]).sum() == sum(range(500, 600))
    assert rows["headers"].map(lambda headers: headers[0]["key"]).eq("n").all()


def test_pandas_and_duckdb_read_each_format(spark, broker, new_topic, tmp_path):
    topic = new_topic(2)
    send(broker.bootstrap, topic, [{"id": n} for n in range(50)])
    for format in FORMATS:
        lake(topic, tmp_path / format, bootstrap=broker.bootstrap, format=format, spark=spark)

    frame = pandas.read_parquet(tmp_path / "parquet")
    assert sorted(frame["id"]) == list(range(50))
    assert duckdb.sql(f"select count(*), max(id) from '{tmp_path}/parquet/*/*.parquet'").fetchall() == [(50, 49)]

    from deltalake import DeltaTable
    from pyiceberg.table import StaticTable

    newest = max((tmp_path / "iceberg" / "metadata").glob("*.metadata.json"))
    iceberg = StaticTable.from_metadata(str(newest)).scan()
    assert sorted(iceberg.to_pandas()["id"]) == list(range(50))
    arrow = iceberg.to_arrow()
    assert duckdb.sql("select count(*), max(id) from arrow").fetchall() == [(50, 49)]
    delta = DeltaTable(tmp_path / "delta")
    assert sorted(delta.to_pandas()["id"]) == list(range(50))
    dataset = delta.to_pyarrow_dataset()
    assert duckdb.sql("select count(*), max(id) from dataset").fetchall() == [(50, 49)]
    assert arrow.num_rows == 50 and dataset.count_rows() == 50


def test_small_files_are_compacted_and_what_is_left_over_deleted(spark, broker, new_topic, tmp_path):
    topic = new_topic(2)
    reports = []
    for first in range(0, 50, 10):
        send(broker.bootstrap, topic, [(b"%d" % n, {"id": n}) for n in range(first, first + 10)])
        reports.append(lake(topic, tmp_path, bootstrap=broker.bootstrap, spark=spark, forget_hours=0))
    assert sum(report.compacted for report in reports) >= 8 and reports[-1].files < 10
    assert sorted(id for (id,) in rows_of(tmp_path, "id").fetchall()) == list(range(50))
    assert len(list(tmp_path.rglob("*.parquet"))) == reports[-1].files
    for file in open_table(tmp_path).files():
        assert pq.read_metadata(file.path).num_rows == file.rows


def test_a_table_of_another_topic_is_not_written_to(spark, broker, new_topic, tmp_path):
    one, other = new_topic(), new_topic()
    send(broker.bootstrap, one, [b"a"])
    lake(one, tmp_path, bootstrap=broker.bootstrap, spark=spark)
    with pytest.raises(UserError, match="another topic"):
        lake(other, tmp_path, bootstrap=broker.bootstrap, spark=spark)


def test_what_retention_deleted_is_named(spark, broker, new_topic, tmp_path):
    topic = new_topic()
    send(broker.bootstrap, topic, [b"a"] * 10)
    lake(topic, tmp_path, bootstrap=broker.bootstrap, spark=spark)
    send(broker.bootstrap, topic, [b"b"] * 10)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for future in admin.delete_records([TopicPartition(topic, 0, 15)], request_timeout=60).values():
        future.result(60)
    with pytest.raises(UserError, match="partition 0: 10 to 14"):
        lake(topic, tmp_path, bootstrap=broker.bootstrap, spark=spark)
    report = lake(topic, tmp_path, bootstrap=broker.bootstrap, spark=spark, allow_data_loss=True)
    assert (report.rows, report.lost) == (5, 5)


def test_no_broker_and_no_topic_are_said_in_words(spark, broker, tmp_path):
    with pytest.raises(UserError, match="no broker answers"):
        lake("orders", tmp_path, bootstrap="127.0.0.1:1", spark=spark)
    with pytest.raises(UserError, match="nowhere"):
        lake("nowhere", tmp_path, bootstrap=broker.bootstrap, spark=spark)


AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "made", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "lines", "type": {"type": "array", "items": "int"}},
    ],
}


@pytest.mark.parametrize("format", FORMATS)
def test_avro_values_become_columns(spark, broker, new_topic, tmp_path, format):
    topic, at = new_topic(), datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)
    (tmp_path / "order.avsc").write_text(json.dumps(AVRO))
    values = []
    for n in range(20):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, AVRO, {"id": n, "made": at, "tags": {"n": str(n)}, "lines": [n, n]})
        values.append(stream.getvalue())
    arguments = {"bootstrap": broker.bootstrap, "spark": spark, "batch_rows": 12}
    send(broker.bootstrap, topic, [*values, b"\x01not avro"])
    report = lake(topic, tmp_path / "t", format=format, decode="avro", schema_file=tmp_path / "order.avsc", **arguments)
    assert (report.rows, report.undecoded) == (21, 1)
    found = rows_of(tmp_path / "t", "id, made, tags, lines").fetchall()[:20]
    assert [id for id, _, _, _ in found] == list(range(20)) and {when for _, when, _, _ in found} == {at}
    assert found[7][2:] == ({"n": "7"}, [7, 7])
