"""The size of a cluster for a load."""
