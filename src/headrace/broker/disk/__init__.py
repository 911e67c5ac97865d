"""The data directory, the room on it, its watch, and the syncs of its files."""
