"""One page a file; each is a function that builds it inside the shell, and keeps it true while it is open."""
