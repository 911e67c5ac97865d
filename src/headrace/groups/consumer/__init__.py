"""Consumer groups (KIP-848): the coordinator assigns, and members of either protocol are moved to their assignment."""
