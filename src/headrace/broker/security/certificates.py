"""Certificates: the principal that a listener's rules make of a client's, and what may follow our own while we run."""

import ssl
from collections.abc import Sequence
from typing import NamedTuple

from headrace.base.errors import UserError
from headrace.base.extras import installation_of
from headrace.broker.security.rights import ANONYMOUS
from headrace.security.principals import NameRule, user_of


class NoPrincipal(Exception):
    """A certificate that no rule gives a principal: its connection is refused."""


def require_reader(listener: str) -> None:
    """Certificates are read by a library that a broker without them does not need."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        fix = f"Install it: {installation_of('cryptography')}"
        raise UserError(f"listener {listener} asks for certificates, and cryptography is not installed", fix) from None


class OwnCertificate(NamedTuple):
    """A certificate that a listener shows."""

    expires_at: float
    """Seconds since 1970."""
    subject: str
    names: frozenset[str]
    """The subject alternative names."""


def read_own(pem: bytes) -> OwnCertificate | None:
    """The first certificate in a PEM text; None if nobody can read it here."""
    try:
        from cryptography.x509 import ExtensionNotFound, SubjectAlternativeName, load_pem_x509_certificates
    except ImportError:
        return None
    try:
        first = load_pem_x509_certificates(pem)[0]
    except ValueError:
        return None
    try:
        names = list(first.extensions.get_extension_for_class(SubjectAlternativeName).value)
    except ExtensionNotFound:
        names = []
    told = frozenset(f"{type(each).__name__}:{each.value}" for each in names)
    return OwnCertificate(first.not_valid_after_utc.timestamp(), first.subject.rfc4514_string(), told)


def change_refused(
    before: OwnCertificate | None, after: OwnCertificate | None, dn_may_change: bool, san_may_change: bool
) -> str:
    """The cause why one may not follow the other while the broker runs; empty if it may.

    A certificate for somebody else is most likely a mistake: brokers and clients that know the broker by its name would be
    locked out.
    """
    if dn_may_change and san_may_change:
        return ""
    if before is None or after is None:
        return (
            "nobody can read whether the new certificate is for the same names (pip install 'headrace[secure]', or allow "
            "all changes: ssl.allow.dn.changes, ssl.allow.san.changes)"
        )
    if not dn_may_change and before.subject != after.subject:
        return f"the new certificate is for {after.subject}, not for {before.subject} (ssl.allow.dn.changes)"
    lacking = before.names - after.names
    if not san_may_change and lacking:
        return f"the new certificate lacks the names {', '.join(sorted(lacking))} (ssl.allow.san.changes)"
    return ""


def principal_of(tls: ssl.SSLObject | None, rules: Sequence[NameRule]) -> str:
    """The principal of who is at the other end; ANONYMOUS for one that showed no certificate."""
    certificate = None if tls is None else tls.getpeercert(binary_form=True)
    if not certificate:
        return ANONYMOUS
    name = distinguished_name(certificate)
    user = user_of(name, rules)
    if user is None:
        raise NoPrincipal(f"no rule of ssl.principal.mapping.rules fits the certificate of {name!r}")
    return f"User:{user}"


def distinguished_name(certificate: bytes) -> str:
    """The subject, most specific part first, as Java's clients and Kafka write it."""
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(certificate).subject.rfc4514_string()
