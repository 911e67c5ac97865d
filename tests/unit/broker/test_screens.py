"""Every API that the broker serves asks for rights: by a screen, or in its handler, or it is one that everybody may ask."""

from headrace.broker.handlers import HANDLERS

FREE = {"ApiVersions", "DescribeCluster", "SaslHandshake", "SaslAuthenticate"}
# Each of these keeps what it was asked for, makes what is missing, or turns pages.
IN_THEIR_HANDLERS = {"Fetch", "Metadata", "DescribeTopicPartitions"}
# These ask whose the token is, which only they find out.
OF_TOKENS = {f"{word}DelegationToken" for word in ("Create", "Renew", "Expire", "Describe")}


def test_no_api_is_without_a_screen_by_oversight() -> None:
    unscreened = {handler.request.__name__.removesuffix("Request") for handler in HANDLERS if handler.screen is None}
    assert unscreened - FREE == IN_THEIR_HANDLERS | OF_TOKENS
