"""Backups of a cluster: made, listed and restored."""
