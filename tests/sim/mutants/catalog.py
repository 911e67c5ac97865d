"""All mutants there are, in the order of the table in docs/guarantees.md."""

from sim.disk_teeth import DISK_TEETH
from sim.isr_teeth import ISR_TEETH
from sim.judge_teeth import JUDGE_TEETH
from sim.mutant import Mutant
from sim.mutants.coordination import COORDINATION
from sim.mutants.following import FOLLOWING
from sim.mutants.in_sync_sets import IN_SYNC_SETS
from sim.mutants.leading import LEADING
from sim.mutants.logins import LOGINS
from sim.mutants.openings import OPENINGS
from sim.mutants.replication import REPLICATION
from sim.mutants.rules import RULES
from sim.mutants.storage import STORAGE
from sim.mutants.tokens import TOKENS
from sim.mutants.upkeep import UPKEEP
from sim.teeth import TEETH
from sim.transaction_teeth import TRANSACTION_TEETH

MUTANTS: tuple[Mutant, ...] = (
    *TEETH,
    *ISR_TEETH,
    *DISK_TEETH,
    *TRANSACTION_TEETH,
    *JUDGE_TEETH,
    *REPLICATION,
    *IN_SYNC_SETS,
    *FOLLOWING,
    *LEADING,
    *STORAGE,
    *OPENINGS,
    *UPKEEP,
    *COORDINATION,
    *LOGINS,
    *TOKENS,
    *RULES,
)
