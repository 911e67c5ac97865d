"""What a broker counts about itself: plain integers on the hot path, read only when somebody scrapes.

Nothing here formats, locks or allocates per event; `broker.metrics` turns it into Prometheus text.
"""


class Probes:
    __slots__ = (
        "bytes_received",
        "bytes_sent",
        "connections_accepted",
        "connections_open",
        "connections_refused",
        "handler_failures",
        "last_request",
        "loop_lag_max_seconds",
        "loop_lag_seconds",
        "loop_stalls",
        "peer_errors",
        "sync_files",
        "sync_rounds",
        "sync_seconds",
        "unclean_elections",
    )

    def __init__(self) -> None:
        self.bytes_received = 0
        self.bytes_sent = 0
        self.connections_open = 0
        self.connections_accepted = 0
        self.connections_refused = 0
        self.peer_errors = 0
        self.handler_failures = 0
        self.sync_rounds = 0
        self.sync_files = 0
        self.sync_seconds = 0.0
        self.loop_lag_seconds = 0.0
        self.loop_lag_max_seconds = 0.0
        self.loop_stalls = 0
        # Whatever prints as its name; the loop-lag probe names it as the suspect.
        self.last_request: object = "none yet"
        self.unclean_elections = 0
