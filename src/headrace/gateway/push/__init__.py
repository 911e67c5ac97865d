"""Messages that come by themselves: server-sent events and WebSockets, per topic and per consumer group.

Listeners at the live end of a topic share one reader and one encoding (`hub`, `feed`); one that is behind reads by itself
until it has caught up (`listener`). A listener of a group is a member of it (`group_stream`).
"""
