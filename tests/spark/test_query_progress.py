"""The listener of a live query: the lag after every batch, and a group that has the last batch too."""

from test_source import produce

from eventually import until
from headrace.admin.lag import get_lag
from headrace.spark.query_progress import QueryProgress

DEADLINE_SECONDS = 120


class Remembering(QueryProgress):
    """Also every lag that it heard of."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.heard = []

    def onQueryProgress(self, event):
        super().onQueryProgress(event)
        if event.progress.name == "watched":
            self.heard.append(sum(self.lags[str(event.progress.id)].values()))


def test_a_listener_knows_the_lag_and_commits_every_batch(spark, broker, new_topic, tmp_path):
    topic, other = new_topic(partitions=2, retention_ms="-1"), new_topic(retention_ms="-1")
    produce(broker.bootstrap, topic, [0, 1], 10)
    produce(broker.bootstrap, other, [0], 10)
    group = f"{topic}-readers"
    listener = Remembering(broker.bootstrap, group=group, query="watched")
    spark.streams.addListener(listener)
    try:
        for name, read in (("unwatched", other), ("watched", topic)):
            run(spark, broker, read, name, tmp_path / name)
        until(lambda: listener.heard[-1:] == [0])
        assert listener.heard[:3] == [12, 4, 0]
        assert {(each.id.topic, each.committed) for each in get_lag(broker.bootstrap, group)} == {(topic, 10)}
        until(lambda: not listener.lags)
    finally:
        spark.streams.removeListener(listener)


def run(spark, broker, topic, name, checkpoint):
    reader = spark.readStream.format("headrace").option("kafka.bootstrap.servers", broker.bootstrap)
    frame = reader.options(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="8").load()
    writer = frame.writeStream.format("noop").queryName(name).option("checkpointLocation", str(checkpoint))
    assert writer.trigger(availableNow=True).start().awaitTermination(DEADLINE_SECONDS)
