"""docs/compatibility.md lists every API of Kafka: the versions that are served, or why it is not."""

import re
from pathlib import Path

from kio.schema.index import api_key_map

from headrace.broker.handlers import HANDLERS
from headrace.broker.net.dispatch import Handler
from headrace.wire.apis import APIS

PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"


def test_the_table_of_apis_is_current() -> None:
    served = sorted(HANDLERS, key=lambda handler: handler.request.API_KEY)
    rows = re.findall(r"^\| \d+ \| \w+ \| [\d–]+ \|$", PAGE.read_text(), re.MULTILINE)
    expected = [row_of(handler) for handler in served]
    assert rows == expected, "the table is to be:\n" + "\n".join(expected)


def row_of(handler: Handler) -> str:
    api = APIS[handler.request.API_KEY]
    lowest = api.min_version if handler.advertised_min is None else handler.advertised_min
    versions = f"{lowest}–{api.max_version}" if lowest < api.max_version else f"{lowest}"
    return f"| {api.key} | {api.name} | {versions} |"


def test_what_is_not_served_is_said() -> None:
    section = PAGE.read_text().partition("Not served:")[2].partition("\n\n#")[0]
    told = {int(key) for keys in re.findall(r"^\| ([\d, ]+) \|", section, re.MULTILINE) for key in keys.split(",")}
    assert told == api_key_map.keys() - {handler.request.API_KEY for handler in HANDLERS}
