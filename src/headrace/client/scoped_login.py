"""The login by a scoped token: by the mechanism that passwords have here, since brokers offer that one. Pure."""

from headrace.client.security import Sasl

# What a scoped token of Headrace begins with.
SCOPED_TOKEN = "hrt1."
SCOPED_TOKEN_USER = "token"


def is_scoped(text: str) -> bool:
    return text.startswith(SCOPED_TOKEN)


def scoped_login(token: str, mechanism: str) -> Sasl:
    """A login in which, by SCRAM, the token itself does not cross the network: all of it but its signature is the name."""
    if mechanism.startswith("SCRAM-"):
        name, _, signature = token.rpartition(".")
        return Sasl(mechanism, name, signature)
    return Sasl(mechanism, "" if mechanism == "OAUTHBEARER" else SCOPED_TOKEN_USER, token)
