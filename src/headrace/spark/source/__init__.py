"""Topics read as tables and streams: options, a plan of ranges, and tasks that fetch and decode."""
