"""The refusal of a login: what the client is told, and what only the broker's own log says."""


class LoginRefused(Exception):
    """A login that failed. Its text is for the log; `told` is for the client, and says nothing of users and passwords."""

    def __init__(self, cause: str, told: str = "") -> None:
        super().__init__(cause)
        self.told = told
