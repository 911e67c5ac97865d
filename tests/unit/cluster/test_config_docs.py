from pathlib import Path

from headrace.cluster.broker_settings import BROKER_SETTINGS
from headrace.cluster.config_docs import render_docs
from headrace.cluster.topic_settings import TOPIC_SETTINGS

COMMITTED = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_committed_page_is_current() -> None:
    assert COMMITTED.read_text() == render_docs(), "run: python -m headrace.cluster.config_docs > docs/configuration.md"


def test_every_setting_is_on_the_page() -> None:
    page = render_docs()
    assert all(f"| `{name}` |" in page for name in [*TOPIC_SETTINGS, *BROKER_SETTINGS])


def test_every_row_has_as_many_cells_as_its_head() -> None:
    rows = [line.replace("\\|", "") for line in render_docs().splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {6}
