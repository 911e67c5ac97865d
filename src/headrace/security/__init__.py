"""Who may do what, decided: operations and resources by Kafka's numbers, rules (ACLs), credentials, tokens.

A core: values in, verdicts out. Where rules are stored is `cluster`'s, who asks is `broker.security`'s.
"""
