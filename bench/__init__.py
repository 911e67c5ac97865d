"""Headrace measured beside Apache Kafka on one machine with one native client: `python -m bench`."""
