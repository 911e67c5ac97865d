"""`headrace gateway` that dies by kill -9 at a chosen step of its first transaction.

    python dying_gateway.py STEP gateway --bootstrap …

STEP is the name of a method of confluent-kafka's producer with before- or after-: the real one is called or not called.
"""

import os
import signal
import sys
from typing import Any

import confluent_kafka

STEPS = (
    "before-begin_transaction",
    "after-begin_transaction",
    "before-flush",
    "after-flush",
    "before-commit_transaction",
    "after-commit_transaction",
)


def dying_producer(step: str) -> type:
    when, _, doomed = step.partition("-")

    class DyingProducer(confluent_kafka.Producer):  # type: ignore[misc]
        pass

    def method(*arguments: Any) -> Any:
        if when == "after":
            getattr(confluent_kafka.Producer, doomed)(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(DyingProducer, doomed, method)
    return DyingProducer


if __name__ == "__main__":
    from headrace.gateway.idempotency import slot_producer

    slot_producer.Producer = dying_producer(sys.argv.pop(1))  # type: ignore[attr-defined,misc]

    from headrace.cli import main

    main()
