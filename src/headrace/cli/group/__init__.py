"""Consumer groups: offsets, lag and members, and resets."""
