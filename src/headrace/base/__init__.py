"""The floor every layer stands on: ids, errors, the clock and disk ports, settings, probes. Imports nothing of ours."""
