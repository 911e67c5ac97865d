"""Transactions of one partition of __transaction_state, as an event-sourced core.

questions   the questions: begin, add partitions, end, describe; and the answer to each
state       one transactional id's state, a value
begin, add, end     one decision each: (state, question) -> new state or a code
coordinator all of a partition's ids: the entry point for the shell
records     their bytes in the log
"""
