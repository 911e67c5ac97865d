"""The rules for what a token claims, for who is no broker."""

from headrace.security.oauthbearer import Claimed, ClaimRules, check_claims
from headrace.security.refusal import LoginRefused

__all__ = ["ClaimRules", "Claimed", "LoginRefused", "check_claims"]
