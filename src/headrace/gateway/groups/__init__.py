"""Consumer groups by REST: as operators see them, what they have committed, and reading as a member of one.

A member that speaks HTTP is a session (`session`): a consumer that this process holds for it, for as long as it comes
back. What a session was given and did not commit is read again by whoever comes next.
"""
