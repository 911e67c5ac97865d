"""Webhooks: messages of a topic POSTed to a URL, in order per partition and at least once, by whichever gateway is there.

A subscription is a record of an ordinary compacted topic, its progress the offsets of an ordinary consumer group: any
number of gateways share the work and take over from each other, and none keeps anything of its own.
"""
