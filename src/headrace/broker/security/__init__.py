"""Who a connection is, and what it may do: rights of principals, logins, certificates."""
