"""What a Python worker has loaded stays loaded, so the garbage collector need not walk over it after every task.

Spark's daemon runs a full collection after each task of a worker it reuses. With numba and pyarrow in memory that takes
some 70 ms, more than a small micro-batch itself, and the next task waits for it.
"""

import gc
from functools import cache


@cache
def settle(work: str) -> None:
    """Once a process for each kind of work, when the first is done: only then all that it needs is there."""
    gc.collect()
    gc.freeze()
