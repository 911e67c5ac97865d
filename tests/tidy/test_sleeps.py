"""A test waits with `until`, never for a fixed time: what sleeps on real time is listed, with what it does meanwhile.

The simulator's time is virtual, and sleeps there cost nothing; `sleep(0)` is a turn of the loop.
"""

import ast
from pathlib import Path

from shrinking import hold_counts

TESTS = Path(__file__).parents[1]
ALLOWED = {
    # `until` itself.
    "eventually.py": 2,
    # The length of a fault, or the pause before the next one: chance, or what the fault is about.
    "chaos/availability.py": 3,
    "chaos/faults.py": 3,
    "chaos/faulty_serve.py": 2,
    "chaos/test_disk_faults.py": 2,
    "chaos/test_kill_one_broker.py": 1,
    "chaos/world.py": 1,
    "gateway/test_webhooks_chaos.py": 1,
    "integration/etcd/test_etcd_broken_wire.py": 1,
    "integration/test_refused_batches.py": 2,
    "integration/test_transactions_exactly_once.py": 1,
    "spark/pipelines/test_lake_killed.py": 1,
    "spark/test_sink_exactly_once.py": 4,
    # The pace of a load, of a prober or of a slow peer.
    "chaos/prober.py": 4,
    "ecosystem/outcome.py": 1,
    "gateway/receiver_process.py": 1,
    "gateway/test_large_replies.py": 1,
    "integration/api/test_python_asyncio.py": 2,
    "integration/api/test_python_faults.py": 4,
    "integration/bad_input/test_slow_clients.py": 2,
    "integration/groups/test_group_first_request.py": 1,
    "spark/kill_switch/sitecustomize.py": 1,
    "unit/broker/test_broker_metadata.py": 1,
    # Nothing may happen meanwhile: more time would only make the test stricter, less cannot fail it.
    "chaos/test_damaged_replicas.py": 1,
    "integration/api/test_python_misuse.py": 4,
    "integration/etcd/test_etcd_restored.py": 1,
    "integration/test_produce_consume.py": 1,
    "unit/stores/test_sqlite.py": 1,
    # Leases of a real store, which run out by its own clock; ages and pictures that want some time.
    "browser/test_ui_walk.py": 1,
    "golden_data/fill.py": 2,
    "integration/etcd/etcd_world.py": 1,
}


def sleeps(tree: ast.Module) -> int:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and is_sleep(node.func)]
    return sum(ast.unparse(call.args[0]) != "0" for call in calls if call.args)


def is_sleep(called: ast.expr) -> bool:
    return ast.unparse(called) in ("time.sleep", "asyncio.sleep", "sleep")


def test_no_test_waits_for_a_fixed_time() -> None:
    paths = [path for path in sorted(TESTS.rglob("*.py")) if path.relative_to(TESTS).parts[0] != "sim"]
    found = {str(path.relative_to(TESTS)): sleeps(ast.parse(path.read_text())) for path in paths}
    hold_counts({name: count for name, count in found.items() if count}, ALLOWED, "wait with `until`")


def test_the_rule_bites() -> None:
    assert sleeps(ast.parse("time.sleep(1)\nawait asyncio.sleep(0)\nlog.sleep(2)\nsleep(PAUSE)")) == 2
