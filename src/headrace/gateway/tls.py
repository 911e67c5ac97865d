"""The certificate of the gateway's own port: read again when its files change, for connections from then on."""

import asyncio
import logging
import ssl
from pathlib import Path

from headrace.base.errors import UserError
from headrace.gateway.settings import GatewaySettings

logger = logging.getLogger("headrace.gateway")

FILES_LOOK_SECONDS = 5.0


class Certificate:
    def __init__(self, settings: GatewaySettings) -> None:
        self._chain = settings.certificate
        self._key = settings.certificate_key or None
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            self._seen = self._stamps()
            self._load(self.context)
        except (OSError, ssl.SSLError) as error:
            raise UserError(
                f"the certificate of the gateway cannot be used: {error}",
                "see the settings certificate and certificate_key",
            ) from None

    async def watch(self) -> None:
        """Looks after the files as long as the gateway runs."""
        while True:
            await asyncio.sleep(FILES_LOOK_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        """Takes files that changed; a pair that does not fit leaves the one before it, and is tried again."""
        try:
            stamps = self._stamps()
            if stamps == self._seen:
                return
            # A context that failed half-way would serve the new certificate with the old key.
            self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
            self._load(self.context)
        except (OSError, ssl.SSLError) as error:
            fields = {"path": self._chain, "cause": error}
            logger.warning("%(path)s and its key cannot be used, the certificate from before stays: %(cause)s", fields)
            return
        self._seen = stamps
        logger.info("the certificate was read again: %(path)s", {"path": self._chain})

    def _load(self, context: ssl.SSLContext) -> None:
        # A key with a passphrase would ask at the terminal.
        context.load_cert_chain(self._chain, self._key, password="")

    def _stamps(self) -> list[tuple[int, int, int]]:
        files = [Path(each).stat() for each in (self._chain, self._key) if each]
        return [(each.st_mtime_ns, each.st_size, each.st_ino) for each in files]
