"""Screens: what of a request a principal may do, asked before anything is looked at that it may not know of.

A screen takes the denied parts out of a request, lets the handler answer the rest, and adds the refused parts to the reply;
or it answers at once. It is called only for principals whose rights are limited. Handlers that keep what they were asked
for (Fetch), make what is missing (Metadata) or turn pages (DescribeTopicPartitions) ask for rights themselves.
"""
