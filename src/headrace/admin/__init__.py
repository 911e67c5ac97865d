"""Operators' questions to a cluster and plans for it: topics, groups, lag, resets, moves, elections, hanging transactions.

Plans are values, made of one look at the cluster; the command line and the gateway show the same ones, in their own words.
"""
