"""What operators ask of a cluster and plan for it: topics, groups, lag, resets, moves, elections, transactions that hang.

Plans are values, made of one look at the cluster; the command line and the gateway show the same ones, in their own words.
"""
