"""A setting that is accepted does what it says, or says that it does nothing."""

from pathlib import Path

import pytest

import headrace
from headrace.cluster.broker_settings import BROKER_SETTINGS
from headrace.cluster.topic_settings import TOPIC_SETTINGS

SOURCES = Path(headrace.__file__).parent
IDLE = "Accepted for"


@pytest.fixture(scope="module")
def sources() -> str:
    return "".join(path.read_text() for path in SOURCES.rglob("*.py") if path.name != "broker_settings.py")


# What topics that do not set them take is looked up by the topic's own name.
DEFAULTS = {synonym.name for topic_setting in TOPIC_SETTINGS.values() for synonym in topic_setting.synonyms}


@pytest.mark.parametrize("name", sorted(BROKER_SETTINGS.keys() - DEFAULTS))
def test_somebody_reads_it_or_it_says_that_nobody_does(name: str, sources: str) -> None:
    assert f'"{name}"' in sources or BROKER_SETTINGS[name].doc.startswith(IDLE)
