"""One process in the foreground, a broker or a gateway: its options, its logs, its rules of start, reload and stop."""
