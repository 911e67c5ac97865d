"""Callers of a gateway before a secured cluster: they log in, and the gateway speaks to the brokers as them.

It has no rights of its own: each login has clients, caches, streams and sessions to itself (`callers.py`).
"""
