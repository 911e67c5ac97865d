"""Decisions about who may do what: operations and resources by Kafka's numbers, rules (ACLs), credentials, tokens.

A core: values in, verdicts out. Where rules are stored is `cluster`'s, who asks is `broker.security`'s.
"""
