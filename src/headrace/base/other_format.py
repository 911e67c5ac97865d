"""The error for a format that this version of Headrace does not read: refused with the way out, and never guessed at."""

from headrace.base.errors import UserError

FIX = "Run the version of Headrace that wrote it, or a newer one; docs/formats.md says what can be rolled back."


def other_format(what: str, found: object, known: object) -> UserError:
    return UserError(
        f"{what} was written by another version of Headrace: it has format {found}, this version reads {known}", FIX
    )
