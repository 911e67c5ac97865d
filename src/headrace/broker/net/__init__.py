"""Connections: bytes in and out, requests to their handlers, deadlines, and other brokers as peers."""
