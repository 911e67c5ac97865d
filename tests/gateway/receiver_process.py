"""What runs in the process of `receiver.py`: PORT LEDGER.

What it accepts is in its ledger, a file of JSON lines, before it answers; so the ledger is what a real receiver would
have done.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mode = "accept"
    ledger: int
    lock = threading.Lock()

    def do_PUT(self) -> None:
        type(self).mode = self._body().decode()
        self._reply(200)

    def do_POST(self) -> None:
        body = self._body().decode()
        mode = self.mode
        if mode == "hang":
            self._note(body, 0)
            time.sleep(3600)
        status = 200
        if mode == "fail" or (mode.startswith("poison:") and mode.removeprefix("poison:") in body):
            status = 500
        if mode == "redirect":
            status = 302
        self._note(body, status)
        self._reply(status)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _note(self, body: str, status: int) -> None:
        seen = {"path": self.path, "headers": dict(self.headers), "body": body, "status": status}
        with self.lock:
            os.write(self.ledger, (json.dumps(seen) + "\n").encode())

    def _reply(self, status: int) -> None:
        words = b"" if status == 200 else b"told to <fail>\n"
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.send_header("Content-Length", str(len(words)))
        self.end_headers()
        self.wfile.write(words)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    _Handler.ledger = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    _Server(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
