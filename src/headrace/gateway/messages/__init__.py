"""Messages over HTTP: stored one by one, in batches or as a stream, and read by offset or time."""
