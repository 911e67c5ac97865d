"""A small OpenID provider: https, real keys, codes that are good once, PKCE; whoever comes is logged in at once.

What it answers can be changed, to be wrong in every way that a client has to notice.
"""

import base64
import hashlib
import json
import secrets
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from headrace.cli.security.certificates import Authority, save_private
from signed_tokens import JWKS, token

CLIENT, SECRET, AUDIENCE = "headrace-gateway", "a secret: of+clients", "headrace"
Fields = dict[str, Any]


class OpenidProvider:
    def __init__(self, folder: Path) -> None:
        authority = Authority.in_folder(folder, 1)
        save_private(folder / "provider.pem", authority.issue("provider", ["localhost", "127.0.0.1"], 1))
        self.ca = folder / "ca.pem"
        self.jwks = folder / "jwks.json"
        self.jwks.write_bytes(JWKS)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "provider.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._server.provider = self  # type: ignore[attr-defined]
        self.issuer = f"https://localhost:{self._server.server_address[1]}"
        self.codes: dict[str, Fields] = {}
        self.reset()
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def reset(self) -> None:
        self.user = "al"
        self.lifetime = 300
        self.sign: Callable[..., str] = token
        """Signs the ID token."""
        self.id_changes: Fields = {}
        self.access_changes: Fields = {}
        self.back: Fields = {}
        """Changes of what the browser brings back."""

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def describe(self) -> Fields:
        names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return {
            "issuer": self.issuer,
            **{name: f"{self.issuer}/{path}" for name, path in names.items()},
            "end_session_endpoint": f"{self.issuer}/out",
            "code_challenge_methods_supported": ["S256"],
        }

    def authorize(self, asked: Fields) -> str:
        """Where the browser is sent back to."""
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        brought = {"code": code, "state": asked["state"], "iss": self.issuer, "session_state": "x", **self.back}
        return f"{asked['redirect_uri']}?{urlencode(brought)}"

    def exchange(self, form: Fields, login: str) -> Fields | None:
        asked = self.codes.pop(form.get("code", ""), None)
        given = base64.b64encode(f"{CLIENT}:{'a%20secret%3A%20of%2Bclients'}".encode()).decode()
        if asked is None or login != f"Basic {given}" or form["redirect_uri"] != asked["redirect_uri"]:
            return None
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(challenge).decode().rstrip("=") != asked["code_challenge"]:
            return None
        return self.tokens(asked)

    def tokens(self, asked: Fields) -> Fields:
        now = int(time.time())
        common = {"iss": self.issuer, "sub": self.user, "iat": now, "exp": now + self.lifetime}
        access = token(**{**common, "aud": AUDIENCE, **self.access_changes})
        own = {**common, "aud": CLIENT, "nonce": asked["nonce"], "preferred_username": "Al Person", **self.id_changes}
        return {"id_token": self.sign(**own), "access_token": access, "token_type": "Bearer"}


class _Handler(BaseHTTPRequestHandler):
    @property
    def provider(self) -> OpenidProvider:
        return self.server.provider  # type: ignore[attr-defined,no-any-return]

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(url.query).items()}
            self.send_response(302)
            self.send_header("Location", self.provider.authorize(asked))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif url.path == "/keys":
            self._answer(200, JWKS)
        elif url.path == "/.well-known/openid-configuration":
            self._answer(200, json.dumps(self.provider.describe()).encode())
        else:
            self._answer(404, b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        found = self.provider.exchange(form, self.headers.get("Authorization", ""))
        self._answer(200 if found else 400, json.dumps(found or {"error": "invalid_grant"}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""
