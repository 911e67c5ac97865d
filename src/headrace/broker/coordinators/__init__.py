"""Coordinators of groups and transactions, each over a partition of an internal topic, and their markers."""
