"""Classic groups: members assign among themselves, in generations; and what their clients say, as bytes."""
