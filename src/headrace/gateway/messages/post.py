"""POST of messages: one, a batch, or a stream of lines; and the reply for each.

One handler for both dialects. It is the busiest of the gateway, so it reads JSON by itself instead of through models;
`describe` says in OpenAPI what it takes.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from headrace.base.errors import Refused
from headrace.client.produce.outgoing import Outgoing
from headrace.client.produce.receipt import Receipt
from headrace.client.produce.texts import Texts
from headrace.gateway.gateway import Gateway
from headrace.gateway.idempotency.once import HEADER as IDEMPOTENCY_KEY
from headrace.gateway.idempotency.once import Once
from headrace.gateway.messages import exact_json
from headrace.gateway.messages.incoming import invalid, parse_message, parse_messages
from headrace.gateway.messages.store import MessageStore, failure
from headrace.gateway.messages.stream_in import NDJSON, store_stream
from headrace.gateway.problem import Problem

JSON = "application/json"
SLOW_AT_ONCE_BYTES = 64 << 10
MULTI_STATUS = 207
_KEY, _LINES = IDEMPOTENCY_KEY.lower().encode(), NDJSON.encode()
_PLACE = '{"partition":%d,"offset":%d,"timestamp":%d}'


async def post_messages(gateway: Gateway, request: Request, topic: str) -> Response:
    # Most requests have no query, and to make objects of headers costs as much as to read the message.
    acks = (request.query_params.get("acks") if request.scope["query_string"] else None) or "all"
    headers = dict(request.scope["headers"])
    key = request.headers.get(IDEMPOTENCY_KEY) if _KEY in headers else None
    is_lines = headers.get(b"content-type", b"").startswith(_LINES)
    if key is None and is_lines:
        return await store_stream(gateway, request, topic, acks)
    async with gateway.intake.body(request) as body:
        messages, acks, is_batch = await _asked(body, is_lines, acks, gateway.settings.messages_max)
        if key is not None:
            return await _post_once(gateway, key, body, topic, messages, acks, is_batch)
        receipt = await gateway.part(MessageStore).store(topic, messages, acks)
        return _reply(topic, receipt, is_batch)


async def _post_once(
    gateway: Gateway, key: str, body: bytes, topic: str, messages: Sequence[Outgoing], acks: str, is_batch: bool
) -> Response:
    """All or none: such a batch is a transaction."""
    await gateway.part(MessageStore).require(topic, acks)
    answer = await gateway.part(Once).store(key, body, topic, messages)
    response = _places([_PLACE % result for result in answer.entry.results], is_batch)
    response.headers["Idempotency-Replayed"] = "true" if answer.is_replay else "false"
    return response


async def _asked(body: bytes, is_lines: bool, acks: str, count_max: int) -> tuple[Sequence[Outgoing], str, bool]:
    """The messages, whose acknowledgement they need, and whether they came as a batch."""
    if is_lines:
        lines = [_parse(line, exact_json.loads) for line in body.splitlines() if line.strip()]
        return *_batch(lines, acks, count_max), True
    messages, said, is_batch = _messages(_parse(body, orjson.loads), acks, count_max)
    if isinstance(messages, Texts) or not exact_json.may_lose_digits(body):
        return messages, said, is_batch
    if len(body) > SLOW_AT_ONCE_BYTES:
        # In a thread: nobody else is to wait for it.
        exact = await asyncio.to_thread(_parse, body, exact_json.loads_exactly)
    else:
        exact = _parse(body, exact_json.loads_exactly)
    return _messages(exact, acks, count_max)


def _messages(asked: Any, acks: str, count_max: int) -> tuple[Sequence[Outgoing], str, bool]:
    if type(asked) is dict and "messages" not in asked:
        acks = asked.pop("acks", acks)
        return [parse_message(asked)], acks, False
    return *_batch(asked, acks, count_max), True


def _parse(body: bytes, loads: Callable[[bytes], Any]) -> Any:
    try:
        return loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(400, "Bad JSON", f"the body is not JSON: {error}", 'such as {"value": "hello"}') from None


def _batch(asked: Any, acks: str, count_max: int) -> tuple[Sequence[Outgoing], str]:
    if type(asked) is dict:
        fields, asked = asked, asked.pop("messages")
        acks = fields.pop("acks", acks)
        if fields:
            raise invalid("", f"there is no field {min(fields):.60} beside messages", "a batch has messages and acks")
    if type(asked) is not list or not asked:
        raise invalid("", "there are no messages", 'such as {"messages": [{"value": "hello"}]}')
    if len(asked) > count_max:
        raise Problem(
            413, "Too many messages", f"{len(asked)} messages in one body", f"send at most {count_max} (messages_max)"
        )
    return parse_messages(asked), acks


def _reply(topic: str, receipt: Receipt, is_batch: bool) -> Response:
    """All stored: 200. None, for one reason: that problem. Otherwise 207, and what became of each."""
    if not receipt.failures:
        return _places(_in_order(receipt), is_batch)
    if not receipt.runs and len({error.code for _, error in receipt.failures}) == 1:
        raise failure(topic, receipt.failures[0][1])
    said = [
        {"error": failure(topic, result).fields()} if isinstance(result, Refused) else result._asdict()
        for result in receipt.results()
    ]
    return Response(orjson.dumps({"messages": said}), MULTI_STATUS, media_type=JSON)


def _in_order(receipt: Receipt) -> list[str]:
    places = [""] * receipt.count
    for indexes, partition, first_offset, timestamp in receipt.runs:
        begin, end = f'{{"partition":{partition},"offset":', f',"timestamp":{timestamp}}}'
        for offset, index in enumerate(indexes, first_offset):
            places[index] = f"{begin}{offset}{end}"
    return places


def _places(places: list[str], is_batch: bool) -> Response:
    text = f'{{"messages":[{",".join(places)}]}}' if is_batch else places[0]
    return Response(text.encode(), media_type=JSON)
