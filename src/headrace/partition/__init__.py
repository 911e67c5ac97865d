"""One partition on this broker, as a core over its log and its replicas: it decides, and touches nobody else.

A call on a partition returns its answer at once and notes in the broker's one `Ready` what is due because of it. The
shell (`broker.turn`) carries that out at the end of the turn of the loop, once, in the order that `Ready` states, so
no client is answered inside another client's stack. The caller's duties:

    carry out    what is in `Ready`, before the loop waits again
    sync         call `begin_sync` and do its jobs; then `on_synced`, unless the log was lost
    tell         `on_state` and `on_config` for what the metadata say; `Upkeep.on_tick`, `InSync.check_followers` and
                 `check_stalled` for what time alone brings
    write down   the offsets of whatever is in `Ready.moved`, at its own pace

    Role           identity, place in the cluster, watermark and durability: what all the parts stand on
    Appends        a producer's batch, a marker, a batch of this broker's own: admitted, stamped, written
    Sequences      duplicates, gaps, and the grace after a change of leaders
    Verifications  proofs that a producer's transaction has this partition
    Reads          what a reader may see, by offset and by time
    InSync         what followers' fetches prove, and the changes of the in-sync set that follow
    Following      copies of the leader's batches, its word on the watermark, cuts
    Upkeep         the passing of time: rolls, deletions, a relaxed topic's flush

Over many partitions at once:

    FetchSessions  what each reader follows of this broker, and its fetch that is parked
    FollowSession  what the leader of a follower's partitions was told
    RefusedBatches batches refused a moment ago, and what those behind them are answered

Nothing here awaits, reads a clock or logs.
"""
