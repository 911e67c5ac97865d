"""Certificates made and read: an authority of one's own for a test cluster, and whom any certificate is for.

Keys are P-256, as PKCS#8; a file of key and chain is what `ssl.keystore.location` takes, the authority's certificate what
`ssl.truststore.location` and clients' `ssl.ca.location` take. Files with a key can be read by their owner only. An
authority whose key lies in a folder is for tests: whoever can read that file can be anybody.
"""

import ipaddress
import os
import ssl
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from headrace.base.errors import UserError

CA_FILE: Final = "ca.pem"
CA_KEY_FILE: Final = "ca.key"
# Clocks are apart a little: one that is behind must not think a certificate to be of the future.
_EARLIER: Final = timedelta(hours=1)


class Authority:
    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @property
    def pem(self) -> bytes:
        return self._certificate.public_bytes(Encoding.PEM)

    @classmethod
    def create(cls, name: str, days: int) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        builder = (
            _builder(subject, subject, key.public_key(), days)
            .add_extension(constraints, critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def in_folder(cls, folder: Path, days: int) -> "Authority":
        """The authority whose files lie there; a new one, saved there, if there is none."""
        certificate, key = folder / CA_FILE, folder / CA_KEY_FILE
        if certificate.exists() != key.exists():
            raise UserError(
                f"{folder} has only one of {CA_FILE} and {CA_KEY_FILE}", "Put both there, or name a new folder."
            )
        if certificate.exists():
            return cls._load(certificate, key)
        made = cls.create("Headrace test authority", days)
        _save(key, made._key_pem, 0o600)
        _save(certificate, made.pem, 0o644)
        return made

    @classmethod
    def _load(cls, certificate: Path, key: Path) -> "Authority":
        try:
            private = load_pem_private_key(key.read_bytes(), None)
            loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{certificate} and {key} cannot be read: {error}", "Name a new folder.") from error
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise UserError(f"{key} is no key that this command made", "Name a new folder.")
        return cls(loaded, private)

    @property
    def _key_pem(self) -> bytes:
        return _private_pem(self._key)

    def issue(self, name: str, hosts: Sequence[str], days: float) -> bytes:
        """A private key and its certificate as one PEM text; with hosts for a server, which is a client of others too."""
        key = ec.generate_private_key(ec.SECP256R1())
        purposes = [ExtendedKeyUsageOID.SERVER_AUTH] if hosts else []
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            _builder(_name(name), self._certificate.subject, key.public_key(), days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([*purposes, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .add_extension(issuer, critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_host(each) for each in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return _private_pem(key) + certificate.public_bytes(Encoding.PEM)


def save_private(path: Path, content: bytes) -> None:
    """Writes a file with a key, for its owner only; one that is there is replaced whole."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    _save(fresh, content, 0o600)
    fresh.replace(path)


def _save(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: float
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=days))
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


# -- reading ---------------------------------------------------------------------------------------------------------------


class Shown(NamedTuple):
    """A certificate as it is shown: for whom, by whom, until when."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    not_after: str
    days_left: int

    def as_row(self) -> dict[str, Any]:
        return self._asdict()


def read_file(path: Path) -> list[Shown]:
    """The certificates in a PEM file, in their order; keys in it are not looked at."""
    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", "Name a PEM file, or HOST:PORT.") from error
    except ValueError as error:
        raise UserError(f"{path} has no certificate that can be read: {error}", "Name a PEM file.") from error
    return _shown(found)


def read_server(host: str, port: int, seconds_max: float = 5.0) -> list[Shown]:
    """The certificate that a server shows, whoever signed it."""
    try:
        pem = ssl.get_server_certificate((host, port), timeout=seconds_max)
    except OSError as error:
        fix = "Name the address of a listener with TLS."
        raise UserError(f"{host}:{port} shows no certificate: {error}", fix) from error
    return _shown(x509.load_pem_x509_certificates(pem.encode()))


def _shown(certificates: Iterable[x509.Certificate]) -> list[Shown]:
    return [
        Shown(
            each.subject.rfc4514_string(),
            each.issuer.rfc4514_string(),
            _names(each),
            each.not_valid_after_utc.strftime("%Y-%m-%d %H:%M UTC"),
            (each.not_valid_after_utc - datetime.now(UTC)).days,
        )
        for each in certificates
    ]


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(each.value) for each in found)
