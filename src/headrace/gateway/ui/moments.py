"""The values of the browser's field for a moment, in the gateway's local time."""

import time

AGO_SECONDS = 3600


def milliseconds(text: str | None) -> int:
    """The moment in milliseconds; an hour ago without a text."""
    if not text:
        return round((time.time() - AGO_SECONDS) * 1000)
    form = "%Y-%m-%dT%H:%M:%S" if text.count(":") == 2 else "%Y-%m-%dT%H:%M"
    return round(time.mktime(time.strptime(text, form)) * 1000)
