"""The principal of a connection, and what it may do: rights of principals, logins, certificates."""
