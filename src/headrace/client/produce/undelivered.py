"""Reasons why a message may not be stored: a broker's refusal, or one of these, with librdkafka's number and words."""

from headrace.base.errors import Refused


def timed_out() -> Refused:
    return Refused(-192, "Local: Message timed out")


def unknown_partition() -> Refused:
    return Refused(-190, "Local: Unknown partition")


def unreachable(reason: str) -> Refused:
    return Refused(-195, reason)


def failed() -> Refused:
    """The reason of a message that was lost by a fault of ours."""
    return Refused(-196, "Local: Communication failure with broker")
