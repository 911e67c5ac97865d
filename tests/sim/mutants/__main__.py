"""`python -m tests.sim.mutants`: see `runner`."""

import sys
from pathlib import Path

# The tests import each other from their own folder, as pytest has it.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sim.mutants.runner import main

if __name__ == "__main__":
    sys.exit(main())
