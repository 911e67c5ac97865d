"""Segment files, read without a broker."""
