"""Backups of a cluster in a folder, made and restored over the Kafka protocol: any store, any number of brokers.

    look (moment) → copy each partition's batches as they are (copying) → the manifest, last
    plan → check every file → topics, batches without what was never committed (batches) → settings, groups

What a backup holds is one moment: group offsets first, then of every partition what was decided a little later, so that no
offset is beyond the copied end. See docs/backup.md.
"""
