"""What a change costs a broker: CPU of the code of two commits, side by side under the same loads.

    python -m bench.trees OLD [NEW] [--pairs 7] [--gigabytes 1.5]

NEW is the working tree unless a commit is named. Prints, for bulk (1 KB records written and read, fsync off), for one record
a request, and for one that is synced before its ack, by how much NEW is dearer than OLD; a rehearsal of OLD against itself
shows the noise of the machine. Writes bench/out/trees.json.
"""

import argparse
import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bench import native, proc
from bench.broker import running
from bench.pairs import Served, bulk, compare, single, synced
from bench.scenarios import Stage

OUT = Path(__file__).parent / "out"
CHECKOUT = Path(__file__).parent.parent
PLAYS = (
    (bulk, "CPU s a GB in and out"),
    (single, "CPU µs a request"),
    (synced, "CPU µs a synced request"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="a commit")
    parser.add_argument("new", nargs="?", help="a commit; the working tree unless given")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--gigabytes", type=float, default=1.5)
    parser.add_argument("--turns", type=int, default=4, help="of each broker in a pair")
    parser.add_argument("--only", choices=[play.__name__ for play, _ in PLAYS], help="one of the loads")
    parser.add_argument("--port", type=int, default=19392)
    options = parser.parse_args()
    clients = native.built(OUT / "native")
    others = proc.OtherWork()
    with (
        source(options.old, "old") as old_source,
        source(options.new, "new") as new_source,
        running(_served("old", old_source), OUT / "data" / "old", port=options.port) as old,
        running(_served("new", new_source), OUT / "data" / "new", port=options.port + 10) as new,
    ):
        stages = Stage(new, clients, 1.0), Stage(old, clients, 1.0)
        for stage in stages:
            bulk(stage, 0.3)
        sides = (options.new or "now", options.old)
        rows = {}
        for play, unit in PLAYS:
            if options.only not in (None, play.__name__):
                continue
            rows[play.__name__] = compare(play, *stages, options.pairs, options.turns, options.gigabytes)
            print(rows[play.__name__].line(play.__name__, unit, sides), flush=True)
    share = others.share()
    stored = {name: row._asdict() for name, row in rows.items()}
    (OUT / "trees.json").write_text(json.dumps({**stored, "sides": sides, "others_cpu_share": share}, indent=1))
    print(f"other processes took {share:.0%} of the CPU")


def _served(name: str, path: Path) -> Served:
    return Served(name, ("headrace.cli", "serve"), {"PYTHONPATH": str(path)})


@contextlib.contextmanager
def source(commit: str | None, name: str) -> Iterator[Path]:
    """The folder that the code of a commit is imported from; a work tree of its own, taken away afterwards."""
    if commit is None:
        yield CHECKOUT / "src"
        return
    place = OUT / "trees" / name
    _git("worktree", "add", "--detach", "--force", str(place), commit)
    try:
        yield place / "src"
    finally:
        _git("worktree", "remove", "--force", str(place))


def _git(*words: str) -> None:
    subprocess.run(["git", "-C", str(CHECKOUT), *words], check=True, capture_output=True)


if __name__ == "__main__":
    main()
