"""The page docs/configuration.md, written from the declarations.

python -m headrace.cluster.config_docs > docs/configuration.md
"""

import sys
from collections.abc import Iterable, Iterator

from headrace.base.settings import INT_MAX, LONG_MAX, Kind, Setting, render
from headrace.cluster.broker_settings import BROKER_SETTINGS
from headrace.cluster.topic_settings import TOPIC_SETTINGS

_HEAD = """# Configuration

Written from the declarations in `src/headrace/cluster` by `python -m headrace.cluster.config_docs`: do not edit it.

Names and meanings are Kafka's. Durations are in the unit the name ends with, sizes in bytes. A value that is not
allowed is refused with the setting, the value and what is allowed.

A topic's own setting comes first, then what was changed for this broker while it runs, then what was changed for all
brokers, then what the broker was started with (a file: [config-file.md](config-file.md)), then the default below.

    headrace up --set num.partitions=6 --set log.retention.hours=24
    headrace serve --config headrace.toml
    headrace config set log.retention.hours=24
    headrace topic create orders --config retention.ms=86400000
    headrace topic alter orders --config flush.messages=10000
"""

_TOPICS_HEAD = """
## Topics

All of them can change while the topic is in use. The broker setting beside a name is its default for topics that do not
set it.

| setting | default | allowed | broker setting | meaning |
|---|---|---|---|---|
"""

_BROKERS_HEAD = """
## Brokers

"Live" settings can change while the broker runs; the others are read when it starts.

| setting | default | allowed | live | meaning |
|---|---|---|---|---|
"""


def render_docs() -> str:
    return _HEAD + _TOPICS_HEAD + "".join(_topic_rows()) + _BROKERS_HEAD + "".join(_broker_rows())


def _topic_rows() -> Iterator[str]:
    for name, (setting, synonyms) in sorted(TOPIC_SETTINGS.items()):
        brokers = ", ".join(f"`{synonym.name}`" for synonym in synonyms)
        yield _row(f"`{name}`", _default(setting), _allowed(setting), brokers, setting.doc)


def _broker_rows() -> Iterator[str]:
    for name, setting in sorted(BROKER_SETTINGS.items()):
        yield _row(f"`{name}`", _default(setting), _allowed(setting), "yes" if setting.dynamic else "", setting.doc)


def _row(*cells: str) -> str:
    return "| " + " | ".join(_escape(cells)) + " |\n"


def _escape(cells: Iterable[str]) -> Iterator[str]:
    return (cell.replace("|", "\\|") for cell in cells)


def _default(setting: Setting) -> str:
    if setting.default is None:
        return "not set"
    if setting.default in (LONG_MAX, INT_MAX) and setting.kind in (Kind.INT, Kind.LONG):
        return "no limit"
    text = render(setting.default)
    return f"`{text}`" if text else "empty"


def _allowed(setting: Setting) -> str:
    """The allowed values as text; no upper bound where it is the largest number there is, which says nothing to a
    reader."""
    return setting.allowed.replace(f" to {INT_MAX}", " on").replace(f" to {LONG_MAX}", " on")


if __name__ == "__main__":
    sys.stdout.write(render_docs())
