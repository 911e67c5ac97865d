"""Messages between a terminal and a topic: `produce` and `consume`."""
