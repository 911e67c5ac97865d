"""Passwords of `headrace user`: where they come from, and what is kept in their place."""

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import remark
from headrace.security.credentials import (
    DIGESTS,
    MECHANISM_NUMBERS,
    USUAL_ITERATIONS,
    USUAL_SALT_BYTES,
    salted_password,
)
from headrace.wire.messages.scram import ScramCredentialUpsertion

STDIN = "-"


def asked_password(name: str, password: str | None, password_file: str | None) -> str:
    """The password that is given, read, or typed twice."""
    if password is not None and password_file is not None:
        raise Failure("--password and --password-file are both given", "give one of them", ExitCode.USAGE)
    if password is not None:
        remark("--password is seen by everybody who lists the processes of this machine; --password-file is not")
    elif password_file is not None:
        password = _read(password_file)
    elif sys.stdin.isatty():
        password = typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True)
    else:
        raise Failure("nobody is there to type a password", "give --password-file FILE, or - for stdin", ExitCode.USAGE)
    if not password or "\0" in password:
        raise Failure("this password is empty, or has a NUL in it", "choose another one", ExitCode.USAGE)
    return password


def _read(file: str) -> str:
    try:
        text = sys.stdin.read() if file == STDIN else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(
            f"--password-file {file} cannot be read: {error}", "name a file of text", ExitCode.USAGE
        ) from None
    return text.removesuffix("\n").removesuffix("\r")


def salted_credentials(name: str, password: str, mechanisms: Sequence[str]) -> list[ScramCredentialUpsertion]:
    """The credentials of a password in these mechanisms, or in all: each with a salt of its own."""
    numbers = {mechanism: number for number, mechanism in MECHANISM_NUMBERS.items()}
    wanted = [each.upper() for each in mechanisms] or list(DIGESTS)
    unknown = [each for each in wanted if each not in numbers]
    if unknown:
        raise Failure(f"--mechanism {unknown[0]} is not known", f"one of {', '.join(numbers)}", ExitCode.USAGE)
    return [_salted(name, numbers[mechanism], mechanism, password) for mechanism in dict.fromkeys(wanted)]


def _salted(name: str, number: int, mechanism: str, password: str) -> ScramCredentialUpsertion:
    salt = secrets.token_bytes(USUAL_SALT_BYTES)
    salted = salted_password(mechanism, password, salt, USUAL_ITERATIONS)
    return ScramCredentialUpsertion(name, number, USUAL_ITERATIONS, salt, salted)
