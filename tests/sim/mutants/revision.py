"""The commit that is being tested."""

import subprocess
from functools import cache
from pathlib import Path


@cache
def commit() -> str:
    """Its hash, with a plus if files were changed since."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{git('rev-parse', '--short=12', 'HEAD') or 'unknown'}{changed}"
