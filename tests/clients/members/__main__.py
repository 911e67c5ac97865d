"""`python -m clients.members LIBRARY BOOTSTRAP`: one member, one JSON request and one JSON answer a line."""

import json
import sys
from typing import Any

from clients.members.adapter import Adapter


def make(library: str, bootstrap: str) -> Adapter:
    if library == "confluent-kafka":
        from clients.members.confluent_member import ConfluentMember

        return ConfluentMember(bootstrap)
    if library == "kafka-python":
        from clients.members.kafka_python_member import KafkaPythonMember

        return KafkaPythonMember(bootstrap)
    from clients.members.aio_member import AioMember

    return AioMember(bootstrap)


def answer(adapter: Adapter, request: dict[str, Any]) -> dict[str, Any]:
    op = request.pop("op")
    try:
        return {"ok": getattr(adapter, op)(**request)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    adapter = make(*sys.argv[1:3])
    # What a library prints by itself would be taken for an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        print(json.dumps(answer(adapter, json.loads(line))), file=answers, flush=True)


main()
