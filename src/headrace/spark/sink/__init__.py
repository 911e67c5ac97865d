"""Rows written to topics: options, columns, batches, and a task that sends them."""
