"""The peer of bench/rest.py: a gateway as one writes it in an hour. Produces and flushes per POST, a new Consumer per GET.

python -m bench.naive_gateway BOOTSTRAP PORT
"""

import sys
from typing import Any

import uvicorn
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from fastapi import FastAPI
from pydantic import BaseModel

BOOTSTRAP = sys.argv[1] if len(sys.argv) > 2 else "127.0.0.1:9092"

app = FastAPI()
producer = Producer({"bootstrap.servers": BOOTSTRAP, "acks": "all", "log_level": 0})


class Incoming(BaseModel):
    key: str | None = None
    value: str


class Batch(BaseModel):
    messages: list[Incoming]


@app.post("/one/{topic}")
def post(topic: str, message: Incoming) -> dict[str, Any]:
    return _produce(topic, [message])[0]


@app.post("/many/{topic}")
def post_many(topic: str, batch: Batch) -> dict[str, Any]:
    return {"messages": _produce(topic, batch.messages)}


def _produce(topic: str, messages: list[Incoming]) -> list[dict[str, Any]]:
    placed: list[dict[str, Any]] = []

    def on_delivery(error: Any, message: Message) -> None:
        placed.append({"partition": message.partition(), "offset": message.offset()})

    for message in messages:
        producer.produce(topic, message.value, message.key, on_delivery=on_delivery)
    producer.flush()
    return placed


@app.get("/read/{topic}")
def read(topic: str, partition: int = 0, offset: int = 0, limit: int = 100) -> dict[str, Any]:
    consumer = Consumer({"bootstrap.servers": BOOTSTRAP, "group.id": "naive", "log_level": 0})
    try:
        consumer.assign([TopicPartition(topic, partition, offset)])
        return {"messages": [_shown(message) for message in consumer.consume(limit, timeout=5)]}
    finally:
        consumer.close()


def _shown(message: Message) -> dict[str, Any]:
    key, value = message.key(), message.value()
    return {
        "offset": message.offset(),
        "key": key.decode() if key else None,
        "value": value.decode() if value else None,
        "timestamp": message.timestamp()[1],
        "headers": dict(message.headers() or []),
    }


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
