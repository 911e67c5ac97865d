"""Topics: made, shown, altered, emptied and deleted."""
