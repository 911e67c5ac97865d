"""Consumer groups: who is in a group, who owns what, and what has been consumed. Decided here, stored and said elsewhere.

    coordinator   all groups of one partition of __consumer_offsets: what the shell calls
    classic       the state of a classic group; join, sync, leave, sessions, rebalance and static_members decide about it
    offsets       what a group has committed; expiry says when it goes
    records       what is stored, as bytes and back

Decisions change only what may be lost (who waits, who is alive); what must survive changes by `apply` of a record.
"""
