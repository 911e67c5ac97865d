"""The cluster by REST: topics, configs, groups, brokers, moves, elections, transactions, health.

Thin: each handler asks `headrace.client` and renders what it says, so a plan here is the plan of the command line.
"""
