"""What is done though nobody asks: retention, compaction, checkpoints, expiry."""
