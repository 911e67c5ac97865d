"""Work that no request asks for: retention, compaction, checkpoints, expiry."""
