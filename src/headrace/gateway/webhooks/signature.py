"""A signature by which a receiver knows a delivery as ours, and fresh: HMAC-SHA256 over its id, its time and its body.

The headers and the secret's form are those of Standard Webhooks, so receivers can verify with a library they have:
`webhook-signature: v1,<base64 of HMAC(secret, "<id>.<timestamp>.<body>")>`. A secret that begins with `whsec_` is the
base64 of the key; any other text is the key itself.
"""

import base64
import binascii
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
KEY_BYTES = 32
SECRET_CHARACTERS_MIN = 16


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def signing_key(secret: str) -> bytes:
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"what follows {PREFIX} is not base64") from None


def signed_headers(secret: str, delivery_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    signed = f"{delivery_id}.{timestamp}.".encode() + body
    digest = hmac.new(signing_key(secret), signed, hashlib.sha256).digest()
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
