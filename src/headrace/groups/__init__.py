"""Consumer groups: their members, assignments and committed offsets. Decided here, stored and answered elsewhere.

    coordinator   all groups of one partition of __consumer_offsets: the entry point for the shell
    classic       the state of a classic group; join, sync, leave, sessions, rebalance and static_members decide about it
    offsets       a group's committed offsets; expiry says when they go
    records       the stored records, as bytes and back

Decisions change only state that may be lost (who waits, who is alive); what must survive changes by `apply` of a
record.
"""
