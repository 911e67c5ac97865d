"""Logins in the OpenAPI description."""

from typing import Any

from fastapi import FastAPI

from headrace.gateway.broker_login import Trust
from headrace.gateway.callers.reception import OPEN


def describe_logins(app: FastAPI, trust: Trust) -> None:
    """Every path wants one of them, but for the open ones."""
    plain = app.openapi
    schemes = {"bearer": {"type": "http", "scheme": "bearer"}}
    if trust.takes_passwords:
        schemes["basic"] = {"type": "http", "scheme": "basic"}

    def described() -> dict[str, Any]:
        said = plain()
        said.setdefault("components", {})["securitySchemes"] = schemes
        said["security"] = [{name: []} for name in schemes]
        for path in OPEN & said["paths"].keys():
            for operation in said["paths"][path].values():
                operation["security"] = []
        return said

    app.openapi = described  # type: ignore[method-assign]
