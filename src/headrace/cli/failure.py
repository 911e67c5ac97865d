"""The failure of a command: a cause, a fix and an exit code, and how they are shown.

The exit codes are a promise to scripts (docs/cli.md): a number is never reused for another meaning.
"""

import json
import sys
from enum import IntEnum

from headrace.base.errors import UserError


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNREACHABLE = 5
    INTERRUPTED = 130


class Failure(UserError):
    def __init__(self, cause: str, fix: str = "", code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(cause, fix)
        self.code = code


def show_failure(cause: str, fix: str, as_json: bool) -> None:
    """On stderr, so that what a script reads from stdout is never mixed with it."""
    if as_json:
        print(json.dumps({"error": cause, "fix": fix}, ensure_ascii=False), file=sys.stderr)
        return
    red, bold, plain = ("\x1b[31m", "\x1b[1m", "\x1b[0m") if sys.stderr.isatty() else ("", "", "")
    print(f"{red}error:{plain} {cause}", file=sys.stderr)
    if fix:
        print(f"  {bold}fix:{plain} {fix}", file=sys.stderr)
