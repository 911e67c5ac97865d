"""Counts of a broker and how they are asked for: metrics, health, the delay of the loop."""
