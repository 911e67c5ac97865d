"""The checks of this machine and of a cluster on it."""
