"""What the gateway posts about alerts, in the order of arrival; the first post of each kind of change is refused once."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class AlertInbox:
    def __init__(self) -> None:
        self.alerts: list[dict[str, Any]] = []
        self.refused: set[str] = set()
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                alert = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204 if inbox.takes(alert) else 503)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/alerts"

    def takes(self, alert: dict[str, Any]) -> bool:
        if alert["state"] not in self.refused:
            self.refused.add(alert["state"])
            return False
        self.alerts.append(alert)
        return True

    def states(self, name: str, **labels: str) -> list[str]:
        return [each["state"] for each in self.alerts if each["name"] == name and each["labels"] == labels]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
