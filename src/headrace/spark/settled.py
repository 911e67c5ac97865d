"""What a Python worker has loaded stays loaded, so the garbage collector need not walk over it after every task.

Spark's daemon runs a full collection after each task of a worker that it reuses. With numba, pyarrow and pandas in memory
that takes some 70 ms, more than the work of a small micro-batch, and the next task waits for it.
"""

import gc
from collections import Counter

_begun: Counter[str] = Counter()


def settle(work: str) -> None:
    """To be called as work of this kind begins: as the second one does, all that it needs has been loaded by the first,
    the daemon has just collected, and what is left is there to stay."""
    _begun[work] += 1
    if _begun[work] == 2:
        gc.freeze()
