"""Secrets of webhooks sealed with a key of the operator's, so that nobody reads them in `_headrace_webhooks` or a
backup.

The file has a key in each line, 32 bytes as base64 (`openssl rand -base64 32`). The first one seals, all of them open: a new
key goes in front, and the old one stays while records sealed with it are there.
"""

import base64
import binascii
import secrets
from hashlib import sha256
from pathlib import Path

from headrace.base.errors import UserError
from headrace.base.extras import installation_of

KEY_BYTES = 32
SEAL_NONCE_BYTES = 12


class CannotOpen(ValueError):
    """A sealed secret without its key, or one that was changed."""


class SecretKeys:
    """AES-256-GCM; a secret is bound to the id of its webhook, so that none can be put into another record."""

    def __init__(self, keys: list[bytes]) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ModuleNotFoundError:
            raise UserError("webhook_keys needs the library cryptography", installation_of("cryptography")) from None
        self._ciphers = {_name(key): AESGCM(key) for key in keys}
        self._sealing = _name(keys[0])

    def seal(self, id: str, secret: str) -> str:
        nonce = secrets.token_bytes(SEAL_NONCE_BYTES)
        sealed = nonce + self._ciphers[self._sealing].encrypt(nonce, secret.encode(), id.encode())
        return f"{self._sealing}.{base64.b64encode(sealed).decode()}"

    def open(self, id: str, sealed: str) -> str:
        name, _, text = sealed.partition(".")
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise CannotOpen(f"it was sealed with key {name[:16]}, which is not in the file")
        from cryptography.exceptions import InvalidTag

        try:
            data = base64.b64decode(text, validate=True)
            return cipher.decrypt(data[:SEAL_NONCE_BYTES], data[SEAL_NONCE_BYTES:], id.encode()).decode()
        except (binascii.Error, InvalidTag, ValueError) as error:
            raise CannotOpen("it was changed after it was sealed") from error


def secret_keys(path: str) -> SecretKeys | None:
    """The keys in a file; None without one."""
    if not path:
        return None
    try:
        lines = Path(path).read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the keys of webhooks cannot be read: {error}", "see the setting webhook_keys") from None
    try:
        keys = [base64.b64decode(line, validate=True) for line in lines]
    except binascii.Error:
        keys = []
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise UserError(
            f"{path}: a line is {KEY_BYTES} bytes as base64", f"make one with `openssl rand -base64 {KEY_BYTES}`"
        )
    return SecretKeys(keys)


def _name(key: bytes) -> str:
    return sha256(b"headrace webhook key\0" + key).hexdigest()[:16]
