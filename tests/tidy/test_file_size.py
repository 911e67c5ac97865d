"""No source file has more than 500 lines."""

import imports
from shrinking import hold

LINES_MAX = 500
ALLOWED = {}


def too_long(files: dict[str, str]) -> set[str]:
    return {name for name, text in files.items() if text.count("\n") > LINES_MAX}


def test_no_file_is_too_long() -> None:
    hold(too_long({name: path.read_text() for name, path in imports.files().items()}), ALLOWED, "split it")


def test_the_rule_bites() -> None:
    assert too_long({"long": "\n" * 501, "right": "\n" * 500}) == {"long"}
