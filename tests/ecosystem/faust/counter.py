"""Faust with all that it keeps on brokers: a copy of each record, and a count by its key in a table with a changelog.
Each count goes out with its key, so that the outcome of a key must hold 1, 2, 3, …. It runs until SIGTERM.

Arguments: bootstrap, application id, its directory, partitions, source, topic of copies, topic of counts.
"""

import sys

import faust

BOOTSTRAP, APPLICATION, FOLDER, PARTITIONS, SOURCE, COPIES, COUNTS = sys.argv[1:]

app = faust.App(
    APPLICATION,
    broker=[f"kafka://{address}" for address in BOOTSTRAP.split(",")],
    datadir=FOLDER,
    topic_partitions=int(PARTITIONS),
    topic_replication_factor=3,
    web_enabled=False,
)


def raw(name: str) -> faust.TopicT:
    return app.topic(name, key_type=bytes, value_type=bytes, value_serializer="raw")


source, copies, counts = raw(SOURCE), raw(COPIES), raw(COUNTS)
tally = app.Table("tally", default=int, key_type=bytes, value_type=int)


@app.agent(source)
async def count(records: faust.StreamT) -> None:
    async for key, value in records.items():
        await copies.send(key=key, value=value)
        tally[key] += 1
        await counts.send(key=key, value=b"tally-%s %d" % (key, tally[key]))


faust.Worker(app, loglevel="WARN").execute_from_commandline()
