"""The state of a cluster, and moves of partitions and leaders in it."""
