"""A cluster on this machine: brokers and a gateway as child processes, started, watched and stopped."""
