"""The replication rules of a leader and of a follower: decided here, carried out by the broker."""
