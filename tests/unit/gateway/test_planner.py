"""The capacity planner: the sum everybody knows, and what must hold for any load."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import UserError
from headrace.gateway.bench_figures import read_measured
from headrace.gateway.planner import FROM_DOCS, Load, Margins, Plan, Prices, plan

MILLION = Load(rate=1e6, size_bytes=1000, replication_factor=3, retention_seconds=7 * 86_400)
LOADS = st.builds(
    Load,
    st.floats(1, 1e8),
    st.floats(1, 1e6),
    st.integers(1, 5),
    st.floats(60, 1e8),
    st.integers(0, 20),
    st.floats(100, 1e7),
)
BAD_FIGURES = [
    json.dumps({"rows": [{"name": "cpu-in", "ours": figure}], "measured": {}})
    for figure in ("fast", [1], -1, float("nan"), float("inf"))
]


def result(made: Plan, name: str) -> str:
    return next(line.result for line in made.lines if line.name == name)


def test_a_million_messages_of_a_kilobyte() -> None:
    made = plan(MILLION)
    assert result(made, "in") == "1 GB/s"
    assert result(made, "inside") == "3 GB/s"
    assert result(made, "a day") == "86.4 TB"
    assert made.value("a week") == pytest.approx(600e12, rel=0.01), "about 600 TB"
    assert made.value("on all disks") == 3 * made.value("kept")


def test_it_shows_how_it_came_to_each_figure() -> None:
    made = plan(MILLION)
    working = {line.name: line.working for line in made.lines}
    assert working["in"] == "1 M messages/s × 1 KB"
    assert working["a day"] == "1 GB/s × 86,400 s"
    assert all(line.working for line in made.lines)


def test_a_small_load_still_needs_a_broker_for_each_replica_and_one_that_may_fail() -> None:
    made = plan(Load(rate=1, size_bytes=1))
    assert made.value("brokers") == 4
    assert made.value("disks") == 4


def test_small_batches_need_more_cores() -> None:
    assert plan(MILLION._replace(batch_bytes=1000)).value("brokers") > plan(MILLION).value("brokers")


def test_slower_disks_are_more_disks() -> None:
    measured = FROM_DOCS._replace(disk_bytes_per_second=1e6)
    assert plan(MILLION, measured).value("disks") > plan(MILLION).value("disks")


def test_cost_grows_with_the_load() -> None:
    made = plan(MILLION, prices=Prices(broker=80, terabyte=20))
    costs = [grown.monthly_cost or 0 for grown in made.growth]
    assert costs[0] == pytest.approx(made.value("brokers") * 80 + made.value("on all disks") / 1e12 * 20)
    assert costs == sorted(costs)
    assert plan(MILLION).growth[0].monthly_cost is None


@given(LOADS)
def test_what_is_planned_carries_the_load_within_its_margins(load: Load) -> None:
    made, margins = plan(load), Margins()
    brokers, disks = made.value("brokers"), made.value("disks")
    assert made.value("cores at work") <= (brokers - 1) * margins.core_share * 1.000001, "with one broker gone"
    assert brokers > load.replication_factor
    assert made.value("on all disks") <= disks * margins.disk_bytes * margins.fill_share * 1.000001
    assert made.value("inside") <= disks * FROM_DOCS.disk_bytes_per_second * margins.disk_share * 1.000001
    assert [grown.brokers for grown in made.growth] == sorted(grown.brokers for grown in made.growth)


def test_constants_come_from_a_run_of_the_bench(tmp_path: Path) -> None:
    rows = [{"name": "cpu-in", "ours": 1.5}, {"name": "cpu-out", "ours": 0.5}, {"name": "single", "ours": None}]
    content = {
        "rows": rows,
        "machine": {"cpu": "Abacus", "cores": "8"},
        "measured": {"machine": {"disk.synced_mb_per_s": [100, 300]}},
    }
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content))
    measured = read_measured(path)
    assert (measured.cpu_per_gb_in, measured.cpu_per_gb_out) == (1.5, 0.5)
    assert measured.disk_bytes_per_second == 200e6
    assert measured.requests_per_core == FROM_DOCS.requests_per_core
    assert measured.source.startswith("mine.json (8 cores, Abacus); single, peak-rss-mb from docs/bench.md")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"rows": [], "measured": {}}', '{"rows": 3, "measured": {}}', *BAD_FIGURES]
)
def test_a_file_that_is_no_bench_result_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"other\.json"):
        read_measured(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.json: no such file"):
        read_measured(tmp_path / "gone.json")


def test_the_constants_are_those_of_the_published_table() -> None:
    table = (Path(__file__).parents[3] / "docs" / "bench.md").read_text()
    for row, figure in (
        ("| broker CPU per GB in |", f"{FROM_DOCS.cpu_per_gb_in:.2f} s"),
        ("| broker CPU per GB out |", f"{FROM_DOCS.cpu_per_gb_out:.2f} s"),
        ("| one record a request |", f"{FROM_DOCS.requests_per_core:,.0f} records/s"),
        ("| memory at its peak |", f"{FROM_DOCS.broker_memory_bytes / 1e6:.1f} MB"),
    ):
        assert figure in next(line for line in table.splitlines() if line.startswith(row))
    assert f"synced write rate: {FROM_DOCS.disk_bytes_per_second / 1e6:.0f} MB/s" in table
