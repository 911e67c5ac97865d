"""Users, rules, tokens and certificates."""
