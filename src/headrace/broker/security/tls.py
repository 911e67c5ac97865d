"""TLS of a listener: contexts made from PEM files or from the settings themselves, and made again when files change.

    look(): settings or files are others ─▶ new contexts ─▶ the next handshakes have them
                                              └─ they cannot be used, or are for other names: said once, the old ones stay

A connection keeps what it began with. The listener for brokers has a second context, to call others with.
"""

import logging
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from headrace.base.errors import UserError
from headrace.broker.security.certificates import OwnCertificate, change_refused, principal_of, read_own, require_reader
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.listeners import PlannedListener
from headrace.security.principals import parse_rules

logger = logging.getLogger("headrace.tls")

MODERN_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
_VERIFY: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


class TlsSettings(NamedTuple):
    """The settings of one listener, by their names with the dots taken out."""

    listener: str
    keystore: str
    key: str
    chain: str
    key_password: str
    truststore: str
    trusted: str
    client_auth: str
    versions: tuple[str, ...]
    suites: tuple[str, ...]
    names_count: bool
    rules: str
    dn_may_change: bool
    san_may_change: bool

    @property
    def files(self) -> list[str]:
        return [each for each in (self.keystore, self.truststore) if each]


def tls_settings(config: BrokerConfig, listener: str) -> TlsSettings:
    def text(name: str) -> str:
        value = config.of_listener(listener, name)
        return value if isinstance(value, str) else ""

    def words(name: str) -> tuple[str, ...]:
        value = config.of_listener(listener, name)
        assert isinstance(value, tuple)
        return value

    found = TlsSettings(
        listener,
        text("ssl.keystore.location"),
        _lines(text("ssl.keystore.key")),
        _lines(text("ssl.keystore.certificate.chain")),
        text("ssl.key.password"),
        text("ssl.truststore.location"),
        _lines(text("ssl.truststore.certificates")),
        text("ssl.client.auth"),
        words("ssl.enabled.protocols"),
        words("ssl.cipher.suites"),
        text("ssl.endpoint.identification.algorithm") == "https",
        text("ssl.principal.mapping.rules"),
        config.of_listener(listener, "ssl.allow.dn.changes") is True,
        config.of_listener(listener, "ssl.allow.san.changes") is True,
    )
    _check(found)
    return found


def _lines(pem: str) -> str:
    """PEM in one line of a file of properties has its line ends written as two characters."""
    return pem.replace("\\n", "\n")


def _check(settings: TlsSettings) -> None:
    """Raises UserError for settings that contradict each other."""

    def refuse(cause: str, fix: str) -> None:
        raise UserError(f"listener {settings.listener}: {cause}", fix)

    if settings.keystore and (settings.key or settings.chain):
        refuse("ssl.keystore.location and ssl.keystore.key are both set", "Give the file or the PEM itself.")
    if settings.truststore and settings.trusted:
        both = "ssl.truststore.location and ssl.truststore.certificates are both set"
        refuse(both, "Give the file or the PEM itself.")
    if bool(settings.key) != bool(settings.chain):
        refuse("ssl.keystore.key and ssl.keystore.certificate.chain belong together", "Set both.")
    if not settings.keystore and not settings.key:
        fix = "Set ssl.keystore.location to a PEM file with both; `headrace certs create` makes one for tests."
        refuse("TLS needs a private key and a certificate", fix)
    if settings.client_auth != "none" and not settings.truststore and not settings.trusted:
        fix = "Set ssl.truststore.location to a PEM file with the authorities of your clients' certificates."
        refuse(f"ssl.client.auth={settings.client_auth} has nobody to trust", fix)
    if not settings.versions:
        refuse("ssl.enabled.protocols is empty", "Leave it out, or name TLSv1.2 or TLSv1.3.")


class Contexts(NamedTuple):
    server: ssl.SSLContext
    client: ssl.SSLContext | None
    """The context to call other brokers with; None where none are called."""
    certificate: OwnCertificate | None
    """Ours; None where no library reads it."""

    @property
    def expires_at(self) -> float | None:
        """The end of our certificate, in seconds since 1970."""
        return None if self.certificate is None else self.certificate.expires_at


def open_contexts(settings: TlsSettings, for_brokers: bool) -> Contexts:
    """Raises UserError for files that cannot be used."""
    try:
        client = _client(settings) if for_brokers else None
        return Contexts(_server(settings), client, read_own(_chain(settings)))
    except (OSError, ValueError) as error:
        named = ", ".join(settings.files) or "ssl.keystore.key, ssl.keystore.certificate.chain"
        raise UserError(
            f"listener {settings.listener}: key or certificates cannot be used: {_cause(error)}",
            f"Look at {named}: PEM, a private key that fits the first certificate, and ssl.key.password if it is encrypted.",
        ) from error


def _chain(settings: TlsSettings) -> bytes:
    return Path(settings.keystore).read_bytes() if settings.keystore else settings.chain.encode()


def _cause(error: Exception) -> str:
    # Not every error of `ssl` has both.
    return getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)


def _server(settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_up(context, settings)
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    context.verify_mode = _VERIFY[settings.client_auth]
    _trust(context, settings)
    return context


def _client(settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.names_count
    _set_up(context, settings)
    if not _trust(context, settings):
        context.load_default_certs()
    return context


def _set_up(context: ssl.SSLContext, settings: TlsSettings) -> None:
    versions = sorted(_VERSIONS[each] for each in settings.versions)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_ciphers(_ciphers(settings.suites))
    # A password, if only an empty one: without any OpenSSL would ask for it at the terminal.
    with _key_file(settings) as path:
        context.load_cert_chain(path, password=settings.key_password)


def _trust(context: ssl.SSLContext, settings: TlsSettings) -> bool:
    if settings.truststore:
        context.load_verify_locations(settings.truststore)
    elif settings.trusted:
        context.load_verify_locations(cadata=settings.trusted)
    return bool(settings.truststore or settings.trusted)


def _ciphers(suites: tuple[str, ...]) -> str:
    """OpenSSL's names: `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is ECDHE-RSA-AES128-GCM-SHA256 there."""
    older = [each for each in suites if "_WITH_" in each or not each.startswith("TLS_")]
    if not older:
        return MODERN_CIPHERS
    return ":".join(_cipher(each) for each in older)


def _cipher(suite: str) -> str:
    if not suite.startswith("TLS_"):
        return suite
    name = suite.removeprefix("TLS_").replace("_WITH_", "_").replace("_", "-").replace("AES-", "AES")
    return name.removesuffix("-SHA256") if "CHACHA20" in name else name


@contextmanager
def _key_file(settings: TlsSettings) -> Iterator[str]:
    """The file of key and chain. OpenSSL reads files only: what stands in the settings itself goes through one that only we
    can read, and that is gone afterwards."""
    if settings.keystore:
        yield settings.keystore
        return
    with tempfile.NamedTemporaryFile("w", prefix="headrace-", suffix=".pem") as file:
        file.write(f"{settings.key}\n{settings.chain}\n")
        file.flush()
        yield file.name


class ListenerTls:
    """The contexts of the moment. `config` tells the settings of the moment."""

    def __init__(self, plan: PlannedListener, config: Callable[[], BrokerConfig], for_brokers: bool) -> None:
        self._plan = plan
        self._config = config
        self._for_brokers = for_brokers
        self._settings = tls_settings(config(), plan.name)
        if self._settings.client_auth != "none":
            require_reader(plan.name)
        self.principal_of = partial(principal_of, rules=parse_rules(self._settings.rules))
        self._stamps = _stamps(self._settings)
        self._contexts = open_contexts(self._settings, for_brokers)
        self._told_end = False

    @property
    def server(self) -> ssl.SSLContext:
        return self._contexts.server

    @property
    def client(self) -> ssl.SSLContext | None:
        return self._contexts.client

    @property
    def expires_at(self) -> float | None:
        return self._contexts.expires_at

    def look(self) -> None:
        """Reads files that have changed, and those that other settings name. May run in a thread."""
        try:
            settings = tls_settings(self._config(), self._plan.name)
        except UserError as error:
            _stay(error)
            return
        stamps = _stamps(settings)
        if (settings, stamps) == (self._settings, self._stamps):
            self._tell_end()
            return
        # Looked at again when they change again.
        self._settings, self._stamps = settings, stamps
        try:
            fresh = open_contexts(settings, self._for_brokers)
            _refuse_ended(self._plan.name, fresh, settings.files)
            self._guard(fresh, settings)
        except UserError as error:
            _stay(error)
            return
        self._contexts, self._told_end = fresh, False
        logger.info("listener %(listener)s has new certificates", {"listener": self._plan.name})

    def _guard(self, fresh: Contexts, settings: TlsSettings) -> None:
        """Raises UserError for a certificate that may not follow ours."""
        cause = change_refused(
            self._contexts.certificate, fresh.certificate, settings.dn_may_change, settings.san_may_change
        )
        if cause:
            raise UserError(f"listener {settings.listener}: {cause}", "Set that to true and restart, if it is meant.")

    def _tell_end(self) -> None:
        """Says once that our own certificate has ended: nobody who connects from now on takes it."""
        if self._told_end or not has_ended(self._contexts):
            return
        self._told_end = True
        fields = {"listener": self._plan.name, "fix": _renewal_of(self._settings.files)}
        logger.error("the certificate of listener %(listener)s has ended, and clients refuse it. %(fix)s", fields)


def _stay(error: UserError) -> None:
    logger.error("certificates stay as they are: %(cause)s. %(fix)s", {"cause": error.cause, "fix": error.fix})


def has_ended(contexts: Contexts) -> bool:
    return contexts.expires_at is not None and contexts.expires_at <= time.time()


def _refuse_ended(listener: str, contexts: Contexts, files: Sequence[str]) -> None:
    if has_ended(contexts):
        ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(contexts.expires_at))
        raise UserError(f"listener {listener}: the new certificate ended at {ended}", _renewal_of(files))


def _renewal_of(files: Sequence[str]) -> str:
    return f"Put a new one into {files[0] if files else 'ssl.keystore.certificate.chain'}; no restart is needed."


def _stamps(settings: TlsSettings) -> list[tuple[int, int, int] | None]:
    return [_stamp(path) for path in settings.files]


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Tells a file from the one that was there before under the same name."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
