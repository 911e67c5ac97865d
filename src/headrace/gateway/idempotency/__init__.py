"""POSTs with an Idempotency-Key: repeated within ten minutes, to any gateway and over the death of some, stored once.

    key --hash--> slot --owned by--> the gateway that last took its transactional id
                    |
                    +-- one partition of _headrace_idempotency: key -> where the messages are

The messages and the line about them are written in one transaction, so there is never one without the other. Whoever
takes a slot over is the only one who can write to it from then on (the brokers fence all others), reads it to its end,
and so knows every key that was ever answered.
"""
