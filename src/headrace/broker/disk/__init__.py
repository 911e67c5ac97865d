"""The data directory, room on it, how it is watched, and who syncs."""
