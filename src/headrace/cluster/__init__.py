"""The cluster's metadata: an immutable image, pure calculations over it, and the port of the store that keeps it."""
