"""Modules that a Python worker has loaded are kept from the garbage collector, which would walk them after every task.

Spark's daemon runs a full collection after each task of a worker that it reuses. With numba, pyarrow and pandas in memory
that takes some 70 ms, more than the work of a small micro-batch, and the next task waits for it.
"""

import gc
from collections import Counter

_begun: Counter[str] = Counter()


def freeze_loaded(work: str) -> None:
    """Freezes loaded objects as the second work of this kind begins: the first one has loaded all that it needs, the
    daemon has just collected, and whatever is left is there to stay.
    """
    _begun[work] += 1
    if _begun[work] == 2:
        gc.freeze()
