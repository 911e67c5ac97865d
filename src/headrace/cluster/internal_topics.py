"""Settings that internal topics cannot do without: coordinators keep their state there, and have told clients of it.

flush.messages=1          an offset, or the outcome of a transaction, is on disk before anybody hears of it
cleanup.policy=compact    the newest record of each key is kept, for ever
"""

from collections.abc import Mapping
from typing import Final

from headrace.base.errors import Refused
from headrace.cluster.entities import INTERNAL_TOPICS
from headrace.wire.codes import ErrorCode

REQUIRED: Final[Mapping[str, str]] = {"cleanup.policy": "compact", "flush.messages": "1"}
_REFUSED: Final = "flush.ms"


def with_required(topic: str, config: Mapping[str, str]) -> Mapping[str, str]:
    """The settings to store: a required one stays if a request leaves it out, and another value for it is refused."""
    if topic not in INTERNAL_TOPICS:
        return config
    for name, text in config.items():
        needed = REQUIRED.get(name)
        if name == _REFUSED or (needed is not None and text.strip() != needed):
            must = "leave it out" if needed is None else f"it must be {needed}"
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"{name} cannot be {text!r} on {topic}, which holds what coordinators have acknowledged: {must}",
            )
    return {**config, **REQUIRED}
