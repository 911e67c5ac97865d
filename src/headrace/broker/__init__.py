"""The shell around the cores: sockets in, decisions by the cores, files and replies out. One event loop per process."""
