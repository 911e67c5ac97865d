"""Names of test files: pytest imports those outside packages by their bare name, so two of one name end a whole run."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_two_test_files_share_a_module_name() -> None:
    bare = [path for path in TESTS.rglob("*.py") if not (path.parent / "__init__.py").exists()]
    named = Counter(path.name for path in bare if path.name != "conftest.py")
    assert [name for name, count in named.items() if count > 1] == []
