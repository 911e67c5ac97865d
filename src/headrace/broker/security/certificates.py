"""Clients' certificates: the distinguished name in one, and the principal that the listener's rules make of it."""

import ssl
from collections.abc import Sequence

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


def expiry_of(pem: bytes) -> float | None:
    """The end of the first certificate in a PEM text, in seconds since 1970; None if nobody can read it here."""
    try:
        from cryptography.x509 import load_pem_x509_certificates
    except ImportError:
        return None
    try:
        return load_pem_x509_certificates(pem)[0].not_valid_after_utc.timestamp()
    except ValueError:
        return None


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
