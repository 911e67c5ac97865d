"""Identities that a provider vouches for by a signed token: one piece for brokers and gateways.

The rules for what a token claims are in `headrace.security.oauthbearer`; here are signatures and the keys for them.
"""
