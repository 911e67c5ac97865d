"""The folder of things that are made once per machine and may be deleted at any time."""

import os
from pathlib import Path


def cache_directory() -> Path:
    """HEADRACE_CACHE, or `headrace` in the user's cache directory; made if it is not there."""
    chosen = os.environ.get("HEADRACE_CACHE")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(chosen) if chosen else user / "headrace"
    cache.mkdir(parents=True, exist_ok=True)
    return cache
