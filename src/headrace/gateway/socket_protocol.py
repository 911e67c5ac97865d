"""uvicorn's WebSocket protocol with a close that reaches a client in the middle of a message we do not take.

A socket that is closed while bytes of its peer lie unread is reset by the system, and a reset takes away what the peer has
not read yet: the close frame that says why (1009, too long). So we end our side only, drop what still comes, and close when
the client has, or after LINGER_SECONDS.
"""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

SOCKET_LINGER_SECONDS = 10.0


class LingeringSocketProtocol(WebSocketsSansIOProtocol):
    _is_lingering = False

    def data_received(self, data: bytes) -> None:
        if not self._is_lingering:
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        closed = self.conn.close_sent
        assert closed is not None, "the parser has failed the connection"
        self.queue.put_nowait({"type": "websocket.disconnect", "code": closed.code, "reason": closed.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = self.disconnected = self._is_lingering = True
        self.stop_keepalive()
        # uvicorn closes when the application has returned, unless this timer runs.
        self.close_timer = self.loop.call_later(SOCKET_LINGER_SECONDS, self.transport.close)
        if self.transport.can_write_eof():
            self.transport.write_eof()
