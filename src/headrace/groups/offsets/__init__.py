"""Committed offsets of a group, whatever kind it is: stored, read, and pending in transactions."""
