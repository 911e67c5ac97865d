"""Options that source and sink share: names, the cluster's address, security."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from headrace.base.errors import UserError
from headrace.client.bearer import BEARER
from headrace.client.security import Sasl, Security, security_from

# The first is the default.
EXECUTOR_TOKENS = ("auto", "required", "off")
EXECUTOR_TOKEN = "executorToken"
_SECURITY = ("kafka.security.", "kafka.sasl.", "kafka.ssl.", "kafka.enable.ssl.")


class HiddenOptions(tuple[tuple[str, str], ...]):
    """Names and values, passwords among them, which no error and no plan shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"({', '.join(name for name, _ in self)})"


def check_names(options: Mapping[str, str], side: str, known: Collection[str], shown: Collection[str]) -> None:
    """`options` are in lower case, as Spark hands them over; of those that are known, `shown` are told."""
    spelled = {name.lower(): name for name in known}
    for name in options:
        if name in spelled or name.startswith(_SECURITY):
            continue
        near = get_close_matches(name, spelled, n=1, cutoff=0.6)
        hint = f"did you mean {spelled[near[0]]}?" if near else f"known are {', '.join(shown)}"
        raise UserError(f"the {side} has no option {name}", hint)


def bootstrap_of(options: Mapping[str, str]) -> str:
    bootstrap = options.get("kafka.bootstrap.servers")
    if not bootstrap:
        raise UserError("the option kafka.bootstrap.servers is missing", "for example 127.0.0.1:9092")
    return bootstrap


def executor_token_of(options: Mapping[str, str]) -> str:
    chosen = options.get(EXECUTOR_TOKEN.lower(), EXECUTOR_TOKENS[0]).lower()
    if chosen not in EXECUTOR_TOKENS:
        raise UserError(f"{EXECUTOR_TOKEN}={chosen} does not exist", f"use {', '.join(EXECUTOR_TOKENS)}")
    return chosen


def security_of(options: Mapping[str, str]) -> HiddenOptions:
    """The security options without their `kafka.`, for `login_of`."""
    chosen = ((name.removeprefix("kafka."), value) for name, value in options.items() if name.startswith(_SECURITY))
    return HiddenOptions(sorted(chosen))


def login_of(security: Iterable[tuple[str, str]]) -> Security | None:
    """The login that the options say; with OAUTHBEARER a `sasl.password` is the token that the driver made for tasks."""
    told = dict(security)
    token = told.pop("sasl.password", "")
    if told.get("sasl.mechanism", "").upper() != BEARER or not token:
        return security_from(dict(security))
    trusted = {name: value for name, value in told.items() if not name.startswith("sasl.")}
    is_tls = told["security.protocol"].upper() == "SASL_SSL"
    reached = security_from({**trusted, "security.protocol": "SSL" if is_tls else "PLAINTEXT"})
    return Security(reached.tls if reached else None, Sasl(BEARER, "", token))
