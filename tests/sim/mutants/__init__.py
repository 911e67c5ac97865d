"""Every rule that an acknowledged record rests on, taken away one at a time; see `sim.mutant`."""
