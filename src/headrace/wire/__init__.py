"""Bytes to Kafka messages and back: no sockets, no files, no clock.

`apis` says which requests exist, `codec` turns one into bytes or back, `frame` adds the headers,
`batch` and `records` read and write what travels inside Produce and Fetch.
"""
