"""An expected refusal of a change: Kafka's error code and a sentence for people. Nothing was written."""

from headrace.wire.codes import ErrorCode


class Refused(Exception):
    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message or code.message)
        self.code = code
        self.message = message or code.message
