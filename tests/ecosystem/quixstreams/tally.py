"""quixstreams with all that it keeps on brokers: a copy of each record, and a count by a new key, for which it makes a
repartition topic and a store with a changelog. Each count goes out with its key, so that the outcome of a key must read
1, 2, 3, …. It runs until SIGTERM.

Arguments: bootstrap, group, directory of the stores, source, topic of copies, topic of counts.
"""

import sys

from quixstreams import Application, State
from quixstreams.models.topics import Topic

BOOTSTRAP, GROUP, STORES, SOURCE, COPIES, COUNTS = sys.argv[1:]

app = Application(
    BOOTSTRAP,
    consumer_group=GROUP,
    auto_offset_reset="earliest",
    processing_guarantee="exactly-once",
    commit_interval=0.5,
    state_dir=STORES,
)


def text(name: str) -> Topic:
    return app.topic(name, "string", "string", "string", "string")


def count(key: str, state: State) -> str:
    number = state.get("count", 0) + 1
    state.set("count", number)
    return f"{key} {number}"


def key_of(value: str) -> str:
    return f"tally-{value.partition(' ')[0]}"


records = app.dataframe(text(SOURCE))
records.to_topic(text(COPIES))
records = records.group_by(key_of, "tally", "string", "string", "string", "string")
records.apply(lambda value, state: count(key_of(value), state), stateful=True).to_topic(text(COUNTS))
app.run()
